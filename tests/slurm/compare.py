"""Holds the replay of an imported Slurm against when it started its jobs.

usage: compare.py SUMMARY SLURM_CONF JOBS

The aim is a 90th percentile of the error of one backfill interval and one scheduling interval; it is printed. Under fair share whole accounts change places when a
second more or less of use decides whose turn it is for the next minute, so single runs miss it; what fails is a job that is lost, or a median above half of that.
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
print(f"{found['jobs']} of {jobs} jobs: error of starts p50 {found['error_p50_s']:.1f} s, p90 {found['error_p90_s']:.1f} s (aim {bound} s),"
      f" rank correlation {found['rank_correlation']:.3f}; waits p90 {found['simulated_wait_s']['p90']:.0f} s simulated,"
      f" {found['observed_wait_s']['p90']:.0f} s observed")
wrong = []
if found["jobs"] != jobs:
    wrong.append(f"{found['jobs']} jobs of {jobs} came through")
if found["error_p50_s"] > bound / 2:
    wrong.append("half of the jobs start at quite another time")
sys.exit("\n".join(wrong) or 0)
