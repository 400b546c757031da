"""Explain a file of any length piece by piece: what is done is on disk, and a stopped run can go on.

The answers go to ``OUT.part``, with the run's settings beside it, and become ``OUT`` when all are there.
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

from cfmark.data import Dataset, read_chunks
from cfmark.errors import ConfigError, TableError
from cfmark.evaluation import Quality, quality
from cfmark.explainers import explain
from cfmark.types import Explainer, Explanations, FloatArray

#: Rows read, explained and written at a time.
CHUNK = 4096
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
    part, notes = _with(out, ".part"), _with(out, ".part.json")
    done = _resume(part, notes, settings) if resume and part.is_file() else 0
    if not done:
        _start(out, part, notes, settings)
    report = Report(skipped=done)
    with progress(_count(dataset, rows), done) as tell, part.open("a", encoding="utf-8", newline="") as file:
        for first, x in _pieces(dataset, rows, done):
            explanations = explain(key, explainer, x, first_row=first, progress=tell)
            table = answers(dataset, explanations, first)
            table.to_csv(file, index=False, header=not (done or report.rows), lineterminator="\n")
            file.flush()
            report.rows += len(x)
            report.pieces.append(quality(explanations, dataset.encoder, explainer.classifier))
    part.replace(out)
    notes.unlink(missing_ok=True)
    return report


def _pieces(dataset: Dataset, rows: Path | None, done: int) -> Iterator[tuple[int, FloatArray]]:
    if rows is None:
        for first in range(done, len(dataset.query.x), CHUNK):
            yield first, dataset.query.x[first : first + CHUNK]
        return
    for table in read_chunks(rows, CHUNK):
        first = int(table.index[0])
        left = table.loc[max(first, done) :]
        if len(left):
            yield max(first, done), dataset.encoder.encode(left, str(rows))


def _count(dataset: Dataset, rows: Path | None) -> int | None:
    """Count a file's lines, quickly; a quoted line break counts as one too many."""
    if rows is None:
        return len(dataset.query.x)
    if rows.suffix == ".parquet" or not rows.is_file():
        return None
    with rows.open("rb") as file:
        return max(sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b"")) - 1, 0)


def _start(out: Path, part: Path, notes: Path, settings: dict[str, Any]) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part.write_text("", encoding="utf-8")
        notes.write_text(json.dumps(settings), encoding="utf-8")
    except OSError as problem:
        raise ConfigError(f"--out {out}: cannot be written ({problem})") from problem


def _resume(part: Path, notes: Path, settings: dict[str, Any]) -> int:
    """Return how many queries are completely answered, and cut off what is not."""
    try:
        same = json.loads(notes.read_text(encoding="utf-8")) == settings
    except (OSError, ValueError):
        same = False
    if not same:
        raise ConfigError(f"{part} was made with other settings: run without --resume to start again")
    text = part.read_bytes()
    complete = text[: text.rfind(b"\n") + 1]
    if complete.count(b"\n") < 2:
        return 0
    try:
        queries = pd.read_csv(part, usecols=["query"], nrows=complete.count(b"\n") - 1)["query"].to_numpy()
    except (ValueError, pd.errors.ParserError) as problem:
        raise TableError(
            f"cannot be read back ({problem}); run without --resume", source=str(part)
        ) from problem
    times = int(settings["n"])
    done = len(queries) // times
    lines = complete.splitlines(keepends=True)[: 1 + done * times]
    part.write_bytes(b"".join(lines))
    return done


def _with(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
