#!/usr/bin/env bash
# Fuzzes every reader for some seconds each: no panic, no hang (10 s an input), no input of 1 MB that takes more than 200 MB.
#
# usage: fuzz/run.sh [SECONDS [TARGET…]]     60 seconds and all targets by default
#
# Needs cargo-fuzz (`cargo install cargo-fuzz`). Coverage is an unstable option of the compiler, so a stable one is told to allow it. Corpora grow in
# fuzz/corpus, which is not committed; they begin with the small files of fuzz/seeds.
set -eu
cd "$(dirname "$0")/.."
export RUSTC_BOOTSTRAP=1
seconds="${1:-60}"
[ $# -gt 0 ] && shift
targets=("$@")
if [ ${#targets[@]} = 0 ]; then mapfile -t targets < <(cargo fuzz list); fi
for target in "${targets[@]}"; do
  mkdir -p "fuzz/corpus/$target"
  cp -n fuzz/seeds/* "fuzz/corpus/$target/"
  cargo fuzz run --sanitizer none "$target" "fuzz/corpus/$target" -- -max_total_time="$seconds" -max_len=1000000 -timeout=10 -rss_limit_mb=200 \
    -print_final_stats=1 2>&1 | tee "fuzz/$target.log" | grep -E "stat::number_of_executed|stat::peak_rss|SUMMARY|panicked|ALARM" || true
  if grep -qE "SUMMARY|panicked at|ALARM: working" "fuzz/$target.log"; then
    echo "fuzz/$target.log has a failure" >&2
    exit 1
  fi
done
