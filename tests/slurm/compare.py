"""Holds the replay of an imported Slurm against when it started its jobs.

usage: compare.py SUMMARY SLURM_CONF JOBS     fails if the 90th percentile of the error is above one backfill interval and one scheduling interval
"""

import json
import re
import sys

summary, conf, jobs = json.load(open(sys.argv[1])), open(sys.argv[2]).read(), int(sys.argv[3])
run = summary["runs"][0]
found = run["fidelity"]


def parameter(name, default):
    match = re.search(rf"{name}=(\d+)", conf)
    return int(match[1]) if match else default


bound = parameter("bf_interval", 30) + parameter("sched_interval", 60)
print(f"{found['jobs']} of {jobs} jobs: error of starts p50 {found['error_p50_s']:.1f} s, p90 {found['error_p90_s']:.1f} s (at most {bound} s),"
      f" rank correlation {found['rank_correlation']:.3f}; waits p90 {found['simulated_wait_s']['p90']:.0f} s simulated,"
      f" {found['observed_wait_s']['p90']:.0f} s observed")
wrong = []
if found["jobs"] != jobs:
    wrong.append(f"{found['jobs']} jobs of {jobs} came through")
if found["error_p90_s"] > bound:
    wrong.append("the error is too large")
sys.exit("\n".join(wrong) or 0)
