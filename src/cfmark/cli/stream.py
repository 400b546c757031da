"""Explain a file of any length piece by piece, into a table of answers in the data set's own units."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from cfmark.cli.journal import Journal, check_out
from cfmark.data import Dataset, read_chunks
from cfmark.errors import ConfigError
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


def check(dataset: Dataset, rows: Path | None, out: Path) -> str | None:
    """Refuse, before any long work, what could not be read or written after it; return what
    is worth a word.
    """
    for name in (*dataset.schema.names, dataset.schema.target):
        if name in OWN_COLUMNS:
            raise ConfigError(
                f"{dataset.name} has a column {name!r}; the answers need that name for themselves: rename it"
            )
    if rows is not None:
        table = next(read_chunks(rows, CHUNK))
        x = dataset.encoder.encode(table, str(rows))
        if out.exists() and out.samefile(rows):
            raise ConfigError(f"--out {out}: that is the file of the rows; choose another name")
    check_out(out)
    return None if rows is None else _rounded(dataset, table, x, rows)


def _rounded(dataset: Dataset, table: pd.DataFrame, x: FloatArray, rows: Path) -> str | None:
    """Say which of a file's first numbers are read as another one: the nearest step of the schema's grid."""
    between = dataset.encoder.between_steps(table)
    if not between.any():
        return None
    row, column = np.argwhere(between)[0]
    name = dataset.encoder.scalars[column].name
    given, taken = table[name].iloc[row], dataset.encoder.decode(x[[row]])[name].iloc[0]
    return (
        f"{rows}: {between.sum():,} of the first {len(table):,} rows' numbers lie between two steps of the "
        f"schema's precision; the nearest step is taken (row {row + 1}, column {name!r}: {given} as {taken})"
    )


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
    journal = Journal([out], settings)
    done = journal.begin(resume=resume)
    report = Report(skipped=done)
    size = min(CHUNK, max(CELLS // (int(settings["n"]) * dataset.width), 128))
    with progress(count(dataset, rows), done) as tell:
        for first, x in pieces(dataset, rows, done, size):
            explanations = explain(key, explainer, x, first_row=first, progress=tell)
            journal.write([answers(dataset, explanations, first)], first + len(x))
            report.rows += len(x)
            report.pieces.append(quality(explanations, dataset.encoder, explainer.classifier))
    journal.finish()
    return report


def pieces(dataset: Dataset, rows: Path | None, done: int, size: int) -> Iterator[tuple[int, FloatArray]]:
    """Yield the rows of a file (or the query rows) from ``done`` on: the first one's number, and x."""
    if rows is None:
        for first in range(done, len(dataset.query.x), size):
            yield first, dataset.query.x[first : first + size]
        return
    for table in read_chunks(rows, size):
        left = table.loc[done:]
        if len(left):
            yield int(left.index[0]), dataset.encoder.encode(left, str(rows))


def count(dataset: Dataset, rows: Path | None) -> int | None:
    """Count a file's rows, quickly: in CSV its lines, so a quoted line break counts as one too many."""
    if rows is None:
        return len(dataset.query.x)
    if not rows.is_file():
        return None
    if rows.suffix == ".parquet":
        return int(pq.read_metadata(rows).num_rows)
    with rows.open("rb") as file:
        return max(sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) - 1, 0)
