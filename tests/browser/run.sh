#!/usr/bin/env bash
# Makes pages of every kind and opens them in headless Chromium, light and dark: every section is there, a table is sorted, the console is
# silent and no request leaves the page.
#
# Chromium and its driver are installed from the distribution if they are missing and CI or SCHEDLAB_BROWSER is set; that needs root. Without
# either, or without Python, a machine that lacks Chromium skips this test; with CI set, it fails instead.
#
# usage: tests/browser/run.sh [DIR]     with DIR, pages and screenshots stay there
set -eu
cd "$(dirname "$0")/../.."

fail() {
  echo "tests/browser: $*" >&2
  exit 1
}

skip() {
  if [ -n "${CI:-}" ]; then fail "$* (and CI is set)"; fi
  echo "tests/browser: skipped: $*"
  exit 0
}

has_browser() { command -v chromedriver >/dev/null && command -v chromium >/dev/null; }

if ! command -v python3 >/dev/null; then skip "no python3 here"; fi
if ! has_browser; then
  if [ -z "${CI:-}${SCHEDLAB_BROWSER:-}" ]; then skip "no Chromium here; SCHEDLAB_BROWSER=1 installs it"; fi
  if ! command -v apt-get >/dev/null; then skip "no Chromium here, and no apt-get to install it with"; fi
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update && apt-get install --yes --no-install-recommends chromium chromium-driver fonts-dejavu-core; } >/dev/null ||
    fail "chromium cannot be installed"
  has_browser || fail "chromium and chromium-driver are installed, but their programs are not found"
fi

keep="${1:-}"
dir="${keep:-$(mktemp -d)}"
mkdir -p "$dir"
cleanup() { [ -n "$keep" ] || rm -rf "$dir"; }
trap cleanup EXIT

cargo build --release --locked --quiet
lab() { cargo run --release --locked --quiet -- "$@"; }

lab run scenarios/quickstart.toml --out "$dir/three" --quiet >/dev/null
lab run scenarios/ai2-after.toml --seeds 1 --out "$dir/ai2-after" --quiet >/dev/null
lab run scenarios/aryl.toml --seeds 1 --out "$dir/aryl" --quiet >/dev/null
lab run scenarios/gfgd-overhead.toml --seeds 1 --out "$dir/gfgd" --quiet >/dev/null
lab run scenarios/turns.toml --out "$dir/turns" --quiet >/dev/null
lab run scenarios/bursty-account.toml --seeds 2 --out "$dir/bursty" --quiet >/dev/null
lab report "$dir/three" "$dir/bursty" --out "$dir/compare.html" --quiet
lab sweep scenarios/bursty-account.toml --over order.lookback=1d,2d,4d,7d,14d --over contract.max_min_runtime=0s,30m,1h,4h,8h \
  --seeds 2 --no-confirm --out "$dir/sweep" --quiet >/dev/null

python3 tests/browser/check.py "$dir" three/report.html ai2-after/report.html aryl/report.html gfgd/report.html turns/report.html \
  bursty/report.html compare.html sweep/report.html
