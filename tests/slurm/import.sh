#!/usr/bin/env bash
# A real Slurm is imported: jobs of four accounts run on it, and from what it says of itself afterwards comes a scenario whose replay starts jobs about
# when Slurm started them, and whose Fair Tree ranks its users as Slurm's own does.
#
# usage: tests/slurm/import.sh [JOBS SECONDS SEED [DIR [LOAD]]]     60 jobs over 60 seconds at thrice what the node can do by default, four minutes in all;
# what is dumped stays in DIR
#
# Needs root, the shared folder (SCHEDLAB_SHARED, else ../shared) with slurm/up.sh, and Slurm with accounting, which is installed if CI or SCHEDLAB_SLURM
# is set. Without one of these it is skipped; with CI set it fails instead.
set -eu
root="$(cd "$(dirname "$0")/../.." && pwd)"
jobs="${1:-60}" seconds="${2:-60}" seed="${3:-1}" keep="${4:-}" load="${5:-3}"
shared="${SCHEDLAB_SHARED:-$root/../shared}"

fail() {
  echo "tests/slurm/import: $*" >&2
  exit 1
}

skip() {
  if [ -n "${CI:-}" ]; then fail "$* (and CI is set)"; fi
  echo "tests/slurm/import: skipped: $*"
  exit 0
}

has_slurm() {
  for program in sbatch slurmctld slurmd slurmdbd munged mariadbd; do command -v "$program" >/dev/null || return 1; done
}

if [ "$(id -u)" != 0 ]; then skip "only root can start a Slurm"; fi
if [ ! -x "$shared/slurm/up.sh" ]; then skip "no slurm/up.sh in the shared folder $shared"; fi
if ! command -v python3 >/dev/null; then skip "no python3 here"; fi
if ! has_slurm; then
  if [ -z "${CI:-}${SCHEDLAB_SLURM:-}" ]; then skip "no Slurm with accounting here; SCHEDLAB_SLURM=1 installs it"; fi
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update && apt-get install --yes --no-install-recommends slurm-wlm slurmdbd munge mariadb-server; } >/dev/null ||
    fail "slurm-wlm, slurmdbd, munge and mariadb-server cannot be installed"
  has_slurm || fail "Slurm is installed, but its programs are not found"
fi

schedlab="${CARGO_TARGET_DIR:-$root/target}/release/schedlab"
[ -x "$schedlab" ] || fail "build the program first: cargo build --release"

work="${keep:-$(mktemp -d)}"
mkdir -p "$work/dump"
finish() {
  local code=$?
  trap - EXIT
  if [ "$code" != 0 ]; then tail -n 20 "$work"/slurm/log/*.log >&2 2>/dev/null || true; fi
  bash "$shared/slurm/down.sh" "$work/slurm" || true
  [ -n "$keep" ] || rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# A Slurm of an earlier test may leave its jobs and accounts in the database; this one counts from now on.
begin="$(date +%FT%T)"
bash "$shared/slurm/up.sh" "$work/slurm" 64 64 >/dev/null
export SLURM_CONF="$work/slurm/slurm.conf"
python3 "$root/tests/slurm/load.py" "$jobs" "$seconds" 64 "$seed" "$load"
sleep 2
sacct --allusers --parsable2 --format=ALL --starttime="$begin" >"$work/dump/sacct.txt"
sacctmgr --parsable2 show assoc >"$work/dump/assoc.txt"
sshare --all --long --parsable2 >"$work/dump/sshare.txt"
scontrol show node >"$work/dump/nodes.txt"
cp "$SLURM_CONF" "$work/dump/"

rm -rf "$work/imported"
"$schedlab" import slurm "$work/dump" --out "$work/imported" | tee "$work/import.txt"
grep -Eq 'fair-tree +([0-9]+) of \1 users ranked as sshare ranks them' "$work/import.txt" || fail "Fair Tree does not rank the users as sshare does"
"$schedlab" run "$work/imported/scenario.toml" --audit --quiet --out "$work/result" >/dev/null
python3 "$root/tests/slurm/compare.py" "$work/result/summary.json" "$work/slurm/slurm.conf" "$jobs"
