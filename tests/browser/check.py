"""Opens pages in headless Chromium by the W3C WebDriver protocol, with nothing but the standard library.

usage: check.py DIR PAGE...     pages are relative to DIR, where screenshots go too
"""

import base64
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request



def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


PORT = free_port()
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars", "--window-size=1160,1400"]

# What a page of each kind must have; a page has more where its data do.
SECTIONS = {
    "three/report.html": ["findings", "overview", "waits", "queue", "capacity", "accounts", "causes", "preemptions", "fragmentation", "timeline"],
    "ai2-after/report.html": ["findings", "overview", "waits", "queue", "capacity", "accounts", "causes", "preemptions", "timeline", "failures"],
    "aryl/report.html": ["findings", "overview", "waits", "queue", "capacity", "loans", "timeline"],
    "gfgd/report.html": ["overview", "failures"],
    "turns/report.html": ["overview", "accounts", "preemptions", "timeline"],
    "bursty/report.html": ["findings", "overview", "waits", "accounts", "timeline"],
    "compare.html": ["findings", "overview", "waits", "queue", "capacity", "timeline"],
    "sweep/report.html": ["findings", "figures", "best", "front", "effects"],
}


def call(method, path, body=None):
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", method=method,
                                     data=None if body is None else json.dumps(body).encode(),
                                     headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{method} {path}: {error.read().decode()[:500]}") from error


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp()
        self.driver = subprocess.Popen([shutil.which("chromedriver"), f"--port={PORT}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                if call("GET", "/status")["ready"]:
                    break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        options = {"args": FLAGS + [f"--user-data-dir={self.profile}"], "binary": shutil.which("chromium")}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.session = "/session/" + call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def close(self):
        try:
            call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait(20)
            shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, page, scheme):
        self.cdp("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        call("POST", self.session + "/url", {"url": page.resolve().as_uri()})

    def run(self, script, *args):
        return call("POST", self.session + "/execute/sync", {"script": script, "args": list(args)})

    def log(self, kind):
        return call("POST", self.session + "/se/log", {"type": kind})

    def cdp(self, command, params):
        return call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": params})

    def picture(self, file):
        size = self.cdp("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 14000), "scale": 1}
        data = self.cdp("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True, "clip": clip})["data"]
        file.write_bytes(base64.b64decode(data))


CHECK = """
const wrong = [];
for (const id of arguments[0]) if (!document.getElementById(id)) wrong.push('no section ' + id);
for (const link of document.querySelectorAll('a[href^="#"]'))
  if (!document.querySelector(link.getAttribute('href'))) wrong.push('a link to nowhere: ' + link.getAttribute('href'));
for (const figure of document.querySelectorAll('figure')) {
  const svg = figure.querySelector('svg[role=img]');
  if (!svg || !svg.querySelector('title').textContent || !svg.querySelector('desc').textContent) wrong.push('a picture without a text');
  if (!figure.querySelector('figcaption').textContent) wrong.push('a picture without a caption');
  if (/NaN|Infinity|undefined/.test(figure.outerHTML)) wrong.push('a picture of what is no number');
}
if (!document.querySelector('figure')) wrong.push('no picture');
if (document.documentElement.scrollWidth > document.documentElement.clientWidth) wrong.push('wider than the window');
return wrong;
"""

SORT = """
const table = [...document.querySelectorAll('table')].find((it) => it.tBodies[0].rows.length > 2);
if (!table) return null;
for (let fold = table.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
const column = Math.min(Number(table.dataset.labels), table.tHead.rows[0].cells.length - 1);
const cells = () => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
const head = table.tHead.rows[0].cells[column];
const before = cells();
head.click(); const up = [cells(), head.getAttribute('aria-sort')];
head.click(); const down = [cells(), head.getAttribute('aria-sort')];
return [before, up, down];
"""


def seconds(text):
    """A cell as the page's own script reads it, written anew."""
    text = text.replace(",", "").lstrip("≥≤+")
    for unit, factor in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        head = text.split(" ± ")[0]
        if text.endswith(unit) and " ± " in text:
            return float(head) * factor
    total, digits, found = 0.0, "", False
    for sign in text:
        if sign.isdigit() or sign == ".":
            digits += sign
        elif sign in "dhms" and digits:
            total, digits, found = total + float(digits) * {"d": 86400, "h": 3600, "m": 60, "s": 1}[sign], "", True
        else:
            break
    return total if found else (float(digits) if digits else None)


def check(browser, folder, name):
    wrong = []
    for scheme in ("light", "dark"):
        browser.open(folder / name, scheme)
        wrong += browser.run(CHECK, SECTIONS[name])
        browser.picture(folder / f"{name.replace('/', '-').removesuffix('.html')}-{scheme}.png")
    colours = browser.run("return getComputedStyle(document.body).backgroundColor")
    if colours == "rgb(255, 255, 255)":
        wrong.append("light although dark was asked for")
    found = browser.run(SORT)
    if found:
        before, (up, says_up), (down, says_down) = found
        values = [value for value in map(seconds, up) if value is not None]
        if says_up != "ascending" or says_down != "descending" or values != sorted(values) or sorted(up) != sorted(before):
            wrong.append(f"a table is not sorted: {up}")
        if [seconds(cell) for cell in down if seconds(cell) is not None] != values[::-1]:
            wrong.append(f"a table is not sorted downwards: {down}")
    elif name not in ("turns/report.html",):
        wrong.append("no table to sort")
    wrong += [f"console: {line['message']}" for line in browser.log("browser")]
    for line in browser.log("performance"):
        message = json.loads(line["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if not url.startswith(("file:", "data:")):
                wrong.append(f"a request leaves the page: {url}")
    size = (folder / name).stat().st_size
    print(f"{name}: {size / 1e6:.2f} MB, {browser.run('return document.querySelectorAll(`figure`).length')} pictures"
          + "".join(f"\n  {it}" for it in wrong))
    return not wrong


def main():
    folder, pages = pathlib.Path(sys.argv[1]), sys.argv[2:]
    browser = Browser()
    try:
        # What the browser loads for itself at its start is not the pages'.
        call("POST", browser.session + "/url", {"url": "about:blank"})
        time.sleep(1)
        browser.log("performance"), browser.log("browser")
        results = [check(browser, folder, page) for page in pages]
    finally:
        browser.close()
    sys.exit(0 if all(results) else 1)


main()
