"""Peak memory of ``cfmark explain`` on 10,000 and on 100,000 Loan rows: it must not grow with the rows.

``python -m benchmarks.memory``; runs the program itself and reads the children's peak from the system.
"""

import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machine import provenance, save
from cfmark.data import is_present, load, write_table

ROWS = (10_000, 100_000)


def main() -> None:
    """Measure and print."""
    if not is_present("loan"):
        print("left out: the files of loan are not here (cfmark datasets get loan)")
        return
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder))
        _explain(Path(folder), 10)
        lines = [_measured(Path(folder), rows) for rows in ROWS]
    print(table(lines))
    save("memory", provenance("make bench-memory", explain="0") | {"runs": lines})


def table(runs: list[dict[str, float]]) -> str:
    """Write the runs as a Markdown table."""
    lines = ["| rows | seconds | rows a second | peak MB |", "|--:|--:|--:|--:|"]
    lines += [
        f"| {run['rows']:,} | {run['seconds']:.1f} | {run['speed']:,.0f} | {run['megabytes']:.0f} |"
        for run in runs
    ]
    return "\n".join(lines)


def _write(folder: Path) -> None:
    dataset = load("loan", "paper")
    for rows in (10, *ROWS):
        write_table(dataset.encoder.decode(dataset.query.x[:rows]), folder / f"{rows}.csv")


def _measured(folder: Path, rows: int) -> dict[str, float]:
    """Run in a process of its own: the system keeps one peak for all children of a process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        seconds, megabytes = pool.apply(_explain, (folder, rows))
    return {"rows": rows, "seconds": seconds, "speed": rows / seconds, "megabytes": megabytes}


def _explain(folder: Path, rows: int) -> tuple[float, float]:
    program = [sys.executable, "-m", "cfmark", "explain", "--data", "loan", "--schema", "paper"]
    files = ["--rows", str(folder / f"{rows}.csv"), "--out", str(folder / "cfs.csv")]
    start = time.perf_counter()
    subprocess.run([*program, *files], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return time.perf_counter() - start, peak


if __name__ == "__main__":
    main()
