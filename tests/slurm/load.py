"""Submits seeded `sleep` jobs of several accounts to the Slurm of this shell, and waits until all are over.

usage: load.py JOBS SECONDS GPUS SEED [LOAD]     so many jobs over so many seconds, at about LOAD times (2) what the GPUs can do in that time
"""

import random
import subprocess
import sys
import time

# The tree: account, share, users.
TREE = [("alpha", 40, ["al1", "al2"]), ("beta", 30, ["be1"]), ("gamma", 20, ["ga1", "ga2"]), ("delta", 10, ["de1"])]


def call(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def accounts():
    def add(*words):
        # It fails if an earlier run added them; what is missing then shows below.
        subprocess.run(["sacctmgr", "-i", "add", *words, "cluster=lab"], capture_output=True, check=False)

    for account, share, users in TREE:
        add("account", account, f"fairshare={share}")
        for user in users:
            subprocess.run(["useradd", "--no-create-home", user], capture_output=True, check=False)
            add("user", user, f"account={account}", "fairshare=1")
    there = call("sacctmgr", "--noheader", "--parsable2", "show", "assoc", "format=account,user").split()
    missing = [f"{account}|{user}" for account, _, users in TREE for user in users if f"{account}|{user}" not in there]
    if missing:
        sys.exit(f"the accounting lacks {missing}")


def jobs(count, span, gpus, seed, load):
    """Submit time, user, account, GPUs, seconds of sleep, minutes of limit; GPU time is `load` times what there is in that span."""
    draw = random.Random(seed)
    users = [(user, account) for account, _, users in TREE for user in users]
    rows = []
    for _ in range(count):
        user, account = draw.choice(users)
        size = draw.choices([1, 2, 4, 8, 16], [45, 20, 20, 12, 3])[0]
        sleep = min(150, max(4, round(4 * 37.5 ** draw.random())))
        limit = -(-round(sleep * draw.uniform(1.1, 3)) // 60)
        rows.append([draw.uniform(0, span), user, account, size, sleep, limit])
    wanted, have = load * gpus * span, sum(row[3] * row[4] for row in rows)
    # Longer or shorter, within the bounds, until the load is right.
    for _ in range(20):
        factor = wanted / have
        if abs(factor - 1) < 0.02:
            break
        for row in rows:
            row[4] = min(150, max(4, round(row[4] * factor)))
            row[5] = -(-round(row[4] * 1.5) // 60)
        have = sum(row[3] * row[4] for row in rows)
    return sorted(rows)


def main():
    count, span, gpus, seed = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    load = float(sys.argv[5]) if len(sys.argv) > 5 else 2.0
    accounts()
    begin = time.monotonic()
    for at, user, account, size, sleep, limit in jobs(count, span, gpus, seed, load):
        time.sleep(max(0, at - (time.monotonic() - begin)))
        call("sbatch", "--quiet", f"--uid={user}", f"--account={account}", f"--time={limit}", f"--cpus-per-task={size}",
             f"--gres=gpu:{size}", "--chdir=/tmp", "--output=/dev/null", "--error=/dev/null", f"--wrap=exec sleep {sleep}")
    while call("squeue", "--noheader", "--states=PENDING,CONFIGURING,RUNNING,COMPLETING").strip():
        time.sleep(1)


main()
