"""What the tests of ``watermark``, ``attack`` and ``verify`` share: few rows, marks that are quickly made."""

from pathlib import Path

QUERIES = 24
#: Few steps of few networks; no limit to the distance, so that nearly every row can move.
QUICK = ["--proximity", "1", "--set", "steps=4", "--set", "unroll=2", "--set", "ensemble=2"]
FILES = ["--rows", "queries.csv", "--cfs", "cfs.csv"]
QUERIES_CSV, CFS, PAIRS = Path("queries.csv"), Path("cfs.csv"), Path("pairs.csv")
