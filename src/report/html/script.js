// Sorts a table by the column whose head is clicked. A cell such as "17.9 ± 1.8h", "≥3m20s" or "12.5%" counts by its first number, in the
// unit that follows; what is no number comes last.
"use strict";
const UNITS = { s: 1, m: 60, h: 3600, d: 86400 };
function value(text) {
  const whole = text.replace(/[,≥≤+]/g, "").replace(/−/g, "-").trim();
  const pair = whole.match(/^(-?[\d.]+) ± [\d.]+([smhd%]?)/);
  if (pair) return parseFloat(pair[1]) * (UNITS[pair[2]] || 1);
  const spans = [...whole.matchAll(/([\d.]+)([smhd])(?![a-z])/g)];
  if (spans.length) return (whole.startsWith("-") ? -1 : 1) * spans.reduce((sum, it) => sum + parseFloat(it[1]) * UNITS[it[2]], 0);
  const number = parseFloat(whole);
  return Number.isNaN(number) ? null : number;
}
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells], labels = Number(table.dataset.labels);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    head.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((it) => it.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => (column < labels ? row.cells[column].textContent : value(row.cells[column].textContent));
      const rows = [...table.tBodies[0].rows].map((row, place) => ({ row, place, key: key(row) }));
      rows.sort((a, b) => {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
        const order = typeof a.key === "string" ? a.key.localeCompare(b.key, "en", { numeric: true }) : a.key - b.key;
        return (up ? order : -order) || a.place - b.place;
      });
      table.tBodies[0].append(...rows.map((it) => it.row));
    });
  });
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((it) => (it.open = true)));
