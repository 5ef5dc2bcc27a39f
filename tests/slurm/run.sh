#!/usr/bin/env bash
# A sweep on a real Slurm makes the same bytes as on this machine. Run it from anywhere, as root; it takes some seconds.
#
# The packages `slurm-wlm` and `munge` are installed if they are missing and CI or SCHEDLAB_SLURM is set. Without either, or without being
# root, a machine that lacks Slurm skips this test; with CI set, it fails instead. The program is the one of the release profile.
set -eu
root="$(cd "$(dirname "$0")/../.." && pwd)"
. "$root/tests/slurm/cluster.sh"

fail() {
  echo "tests/slurm: $*" >&2
  exit 1
}

skip() {
  if [ -n "${CI:-}" ]; then fail "$* (and CI is set)"; fi
  echo "tests/slurm: skipped: $*"
  exit 0
}

has_slurm() {
  command -v sbatch >/dev/null && command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null
}

if [ "$(id -u)" != 0 ]; then skip "only root can start a Slurm"; fi
if ! has_slurm; then
  if [ -z "${CI:-}${SCHEDLAB_SLURM:-}" ]; then skip "no Slurm here; SCHEDLAB_SLURM=1 installs it"; fi
  if ! command -v apt-get >/dev/null; then skip "no Slurm here, and no apt-get to install it with"; fi
  export DEBIAN_FRONTEND=noninteractive
  # Only their programs are wanted; their services find no configuration, and do not start.
  { apt-get update && apt-get install --yes --no-install-recommends slurm-wlm munge; } >/dev/null || fail "slurm-wlm and munge cannot be installed"
  has_slurm || fail "slurm-wlm and munge are installed, but their programs are not found"
fi

schedlab="${CARGO_TARGET_DIR:-$root/target}/release/schedlab"
[ -x "$schedlab" ] || fail "build the program first: cargo build --release"

work="$(mktemp -d)"
# The folder of the sweep has a name that scripts and Slurm could take for more than itself.
sweep="$work/it's \"a\" sweep, %j \$HOME"
finish() {
  local code=$?
  trap - EXIT
  if [ "$code" != 0 ]; then
    tail -n 30 "$work"/slurm/log/* "$sweep"/slurm/*.log >&2 2>/dev/null || true
  fi
  cluster_stop
  rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Waits until Slurm holds no more jobs that are to run or running.
wait_for_jobs() {
  local tries
  for tries in $(seq 480); do
    if [ -z "$(squeue --noheader --states=PENDING,CONFIGURING,RUNNING,COMPLETING)" ]; then return 0; fi
    sleep 0.25
  done
  squeue >&2
  fail "jobs still wait or run after 120 s"
}

# What became of the job of that number, of each task.
states() {
  squeue --noheader --states=all --array --jobs="$1" --format=%T | sort | uniq -c | sed 's/^ *//'
}

same() {
  local file
  for file in sweep.parquet sweep.json summary.md; do
    cmp "$work/local/$file" "$sweep/$file" || fail "$1: $file differs"
  done
}

cd "$root"
# Two orders, two placements and two seeds, and the best again on fresh seeds.
grid=(scenarios/quickstart.toml --over order=fifo,shortest --over place=first-fit,best-fit --policy easy
  --set workload.synth.span=4d --set run.warm_up=1d --seeds 2)
"$schedlab" sweep "${grid[@]}" --quiet --out "$work/local" >/dev/null
cluster_start "$work/slurm"

on_slurm() {
  "$schedlab" sweep "${grid[@]}" --out "$sweep" --slurm --shards 4 --cpus 1 --partition loopback --time 10:00 "$@"
}

# Nothing is submitted of a sweep with a fault, nor by a look at the scripts.
if on_slurm --set workload.load=-1 2>/dev/null; then fail "a load below zero was submitted"; fi
on_slurm --dry-run >"$work/script"
[ ! -e "$sweep" ] || fail "a dry run left files"
[ -z "$(squeue --noheader --states=all)" ] || fail "a dry run left jobs"

said="$(on_slurm)"
echo "$said"
if on_slurm --resume 2>"$work/refused"; then fail "a sweep was submitted again while its jobs were there"; fi
grep -q scancel "$work/refused" || fail "it was refused for another reason: $(cat "$work/refused")"
wait_for_jobs
same "submitted"
[ "$(states 1)" = "4 COMPLETED" ] || fail "shards ended as $(states 1)"

# Submitted again, it does only what is missing: here the first and the sixth run, of the first two shards.
rm "$sweep"/sweep.parquet "$sweep"/sweep.json "$sweep"/summary.md "$sweep"/parts/000000.json
printf 'cut' >"$sweep/parts/000005.json"
touch "$work/before"
said="$(on_slurm --resume)"
echo "$said"
case "$said" in *" 2 of 4 shards"*) ;; *) fail "expected two shards to be submitted" ;; esac
wait_for_jobs
same "resumed"
again="$(find "$sweep/parts" -newer "$work/before" -name '0*' | wc -l)"
[ "$again" = 2 ] || fail "$again runs were made again, not 2"

# A shard that fails takes the merge with it; submitted again, both are mended. Here the times of its fourth run find their place taken.
rm "$sweep"/sweep.parquet "$sweep"/sweep.json "$sweep"/summary.md "$sweep"/parts/000003.json "$sweep"/timings/000003.json
mkdir -p "$sweep/timings/000003.json/in-the-way"
on_slurm --resume >/dev/null
wait_for_jobs
[ ! -e "$sweep/sweep.json" ] || fail "shards that failed were merged"
rm -r "$sweep/timings/000003.json"
on_slurm --resume >/dev/null
wait_for_jobs
same "mended"

# What a dry run printed is the same submission.
rm -rf "$sweep"
sh "$work/script" >/dev/null
wait_for_jobs
same "the printed script"

# What Slurm refuses is told as it told it.
code=0
on_slurm --resume --partition nowhere 2>"$work/refused" || code=$?
[ "$code" = 2 ] || fail "a partition that does not exist ended with $code"
grep -qi partition "$work/refused" || fail "Slurm's words are missing: $(cat "$work/refused")"
echo "tests/slurm: the same bytes on Slurm $(sinfo --version | sed 's/^slurm[^0-9]*//') ($SECONDS s)"
