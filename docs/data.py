"""Three answers from the tables of one run: python3 docs/data.py reports/quickstart/fcfs/1

Needs polars alone (pip install polars). The columns and their units: docs/outputs.md.
"""

import math
import sys
from pathlib import Path

import polars as pl


def nearest_rank(values: pl.Series, q: float) -> float:
    """The percentile as summary.json has it: the value of rank ceil(q n)."""
    return values.sort()[max(math.ceil(q * len(values)), 1) - 1]


def main(run: Path) -> None:
    jobs = pl.read_parquet(run / "jobs.parquet").filter(pl.col("measured"))
    print("wait p90 by class, in seconds")
    for (name,), group in sorted(jobs.group_by("class")):
        print(f"  {name}: {nearest_rank(group['wait_s'], 0.9):.3f} of {len(group)} jobs")

    accounts = pl.read_parquet(run / "accounts.parquet")
    print("owed and delivered by account, in GPU h")
    for (name,), group in sorted(accounts.group_by("account")):
        owed, delivered = (group[column].sum() / 3600 for column in ("owed_gpu_s", "delivered_gpu_s"))
        print(f"  {name}: {owed:.1f} {delivered:.1f}")

    attempts = pl.read_parquet(run / "attempts.parquet")
    ends = attempts["end"].cast(pl.String).value_counts().sort("end")
    print("how attempts and their segments ended")
    for end, count in ends.iter_rows():
        print(f"  {end}: {count}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
