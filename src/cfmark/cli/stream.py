"""Explain a file of any length piece by piece: what is done is on disk, and a stopped run can go on.

The answers go to ``OUT.part`` and become ``OUT`` when all are there. Beside it, ``OUT.part.json`` says how
far they are complete and what they were made with.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from cfmark.data import Dataset, read_chunks
from cfmark.errors import ConfigError, TableError
from cfmark.evaluation import Quality, quality
from cfmark.explainers import explain
from cfmark.types import Explainer, Explanations, FloatArray

#: At most so many rows, and so many encoded cells of answers, are read, explained and written at a time.
CHUNK = 4096
CELLS = 4_000_000
#: The columns of the answers that are not the table's own.
OWN_COLUMNS = ("query", "cf", "found")
Progress = Callable[[int | None, int], AbstractContextManager[Callable[[int], None]]]


@dataclass
class Report:
    """What a run has explained so far; quality is over the rows of this run."""

    rows: int = 0
    skipped: int = 0
    pieces: list[Quality] = field(default_factory=list)

    def quality(self) -> Quality:
        """Return the quality over all pieces; they count by their queries."""
        weights = np.array([piece.queries for piece in self.pieces], float)
        found = weights * [piece.found for piece in self.pieces]

        def mean(name: str, weight: Any) -> float:
            values = np.array([getattr(piece, name) for piece in self.pieces])
            return (
                float(np.average(values[weight > 0], weights=weight[weight > 0])) if weight.any() else np.nan
            )

        return Quality(
            queries=int(weights.sum()),
            found=mean("found", weights),
            validity=mean("validity", weights),
            l1=mean("l1", found),
            changed=mean("changed", found),
            violations=sum(piece.violations for piece in self.pieces),
        )


def check(dataset: Dataset, rows: Path | None, out: Path) -> None:
    """Refuse, before any long work, what could not be read or written after it."""
    for name in (*dataset.schema.names, dataset.schema.target):
        if name in OWN_COLUMNS:
            raise ConfigError(
                f"{dataset.name} has a column {name!r}; the answers need that name for themselves: rename it"
            )
    if rows is not None:
        dataset.encoder.encode(next(read_chunks(rows, CHUNK)), str(rows))
        if out.exists() and out.samefile(rows):
            raise ConfigError(f"--out {out}: that is the file of the rows; choose another name")
    if out.is_dir():
        raise ConfigError(f"--out {out}: that is a folder; name a file in it")
    part = part_of(out)
    there = part.exists()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part.open("ab").close()
    except OSError as problem:
        raise ConfigError(f"--out {out}: cannot be written ({problem.strerror})") from problem
    if not there:
        part.unlink()


def answers(dataset: Dataset, explanations: Explanations, first_row: int) -> pd.DataFrame:
    """Return counterfactuals as a table: which query (rows count from 1), which answer, found, values.

    What was not found has empty cells. The target column holds the class that was asked for.
    """
    n, m, d = explanations.cf.shape
    found = explanations.found.reshape(-1)
    values = dataset.encoder.decode(explanations.cf.reshape(n * m, d))
    values[dataset.schema.target] = np.array(dataset.schema.labels, object)[np.repeat(explanations.target, m)]
    values = values.astype(object).mask(np.broadcast_to(~found[:, None], values.shape), None)
    values.insert(0, "query", np.repeat(np.arange(first_row + 1, first_row + n + 1), m))
    values.insert(1, "cf", np.tile(np.arange(1, m + 1), n))
    values.insert(2, "found", found)
    return values


def explain_file(
    key: jax.Array,
    explainer: Explainer,
    dataset: Dataset,
    rows: Path | None,
    out: Path,
    settings: dict[str, Any],
    *,
    resume: bool,
    progress: Progress,
) -> Report:
    """Explain the rows of a file (or the data set's query rows) into a CSV file, and report."""
    part, notes = part_of(out), _with(out, ".part.json")
    done = _resume(part, notes, settings) if resume and part.is_file() else 0
    if not done:
        part.unlink(missing_ok=True)
    report = Report(skipped=done)
    size = min(CHUNK, max(CELLS // (int(settings["n"]) * dataset.width), 128))
    with progress(_count(dataset, rows), done) as tell:
        for first, x in _pieces(dataset, rows, done, size):
            explanations = explain(key, explainer, x, first_row=first, progress=tell)
            with part.open("a", encoding="utf-8", newline="") as file:
                answers(dataset, explanations, first).to_csv(
                    file, index=False, header=first == 0, lineterminator="\n"
                )
            _note(notes, settings, first + len(x), part.stat().st_size)
            report.rows += len(x)
            report.pieces.append(quality(explanations, dataset.encoder, explainer.classifier))
    part.replace(out)
    notes.unlink(missing_ok=True)
    return report


def _pieces(dataset: Dataset, rows: Path | None, done: int, size: int) -> Iterator[tuple[int, FloatArray]]:
    if rows is None:
        for first in range(done, len(dataset.query.x), size):
            yield first, dataset.query.x[first : first + size]
        return
    for table in read_chunks(rows, size):
        left = table.loc[done:]
        if len(left):
            yield int(left.index[0]), dataset.encoder.encode(left, str(rows))


def _count(dataset: Dataset, rows: Path | None) -> int | None:
    """Count a file's rows, quickly: in CSV its lines, so a quoted line break counts as one too many."""
    if rows is None:
        return len(dataset.query.x)
    if not rows.is_file():
        return None
    if rows.suffix == ".parquet":
        return int(pq.read_metadata(rows).num_rows)
    with rows.open("rb") as file:
        return max(sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) - 1, 0)


def _note(notes: Path, settings: dict[str, Any], queries: int, size: int) -> None:
    """Write down that so many queries are answered in the part's first ``size`` bytes."""
    text = json.dumps({"settings": settings, "queries": queries, "bytes": size})
    fresh = _with(notes, ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(notes)


def _resume(part: Path, notes: Path, settings: dict[str, Any]) -> int:
    """Return how many queries are completely answered, and cut off what is not."""
    try:
        noted = json.loads(notes.read_text(encoding="utf-8"))
        made_with, queries, size = noted["settings"], int(noted["queries"]), int(noted["bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        raise ConfigError(f"{notes} cannot be read: run without --resume to start again") from None
    if other := sorted(name for name in settings if made_with.get(name) != settings[name]):
        raise ConfigError(
            f"{part} was made with another {' and '.join(other)}: run without --resume to start again"
        )
    if part.stat().st_size < size:
        raise TableError("some answers are gone; run without --resume to start again", source=str(part))
    with part.open("r+b") as file:
        file.truncate(size)
    return queries


def part_of(out: Path) -> Path:
    """Return the file that holds the answers until all are there."""
    return _with(out, ".part")


def _with(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
