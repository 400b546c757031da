"""Read the counterfactuals that ``cfmark explain`` wrote, with the rows that they answer, piece by piece."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfmark.cli.stream import CHUNK, OWN_COLUMNS, pieces
from cfmark.data import Dataset, read_chunks
from cfmark.errors import TableError
from cfmark.types import Classifier, Explanations, FloatArray, predict

_TRUTHS = {"True": True, "true": True, "False": False, "false": False, True: True, False: False}


def read_cfs(
    dataset: Dataset,
    classifier: Classifier,
    rows: Path | None,
    cfs: Path,
    *,
    done: int = 0,
    size: int = CHUNK,
) -> Iterator[tuple[int, Explanations]]:
    """Yield the number of a piece's first query, and the piece.

    Parameters
    ----------
    dataset, classifier
        What the counterfactuals were made for; each is asked for its class.
    rows
        The file of the queries; None for the data set's query rows.
    cfs
        The file that ``cfmark explain`` wrote for them: m rows a query, in the order of the queries.
    done
        How many queries to leave out at the start.
    size
        How many counterfactuals make a piece, about.
    """
    m = times(cfs)
    per_piece = max(size // m, 1)
    answers = (table.loc[done * m :] for table in read_chunks(cfs, per_piece * m))
    left = (table for table in answers if len(table))
    asked = rows or f"the query rows of {dataset.name}"
    for question, table in zip_longest(pieces(dataset, rows, done, per_piece), left):
        first, x = question or (0, np.zeros((0, dataset.width), np.float32))
        answered = 0 if table is None else len(table)
        if answered < m * len(x):
            raise TableError(
                f"the answers end after query {first + answered // m}, but not {asked}", source=str(cfs)
            )
        if answered > m * len(x):
            row = int(table.index[m * len(x)]) + 1
            raise TableError(f"there are more answers than {asked} can have", source=str(cfs), row=row)
        yield first, _piece(dataset, classifier, first, x, table, str(cfs))


def read_all(dataset: Dataset, classifier: Classifier, rows: Path | None, cfs: Path) -> Explanations:
    """Return the explanations of the whole file."""
    found = [piece for _, piece in read_cfs(dataset, classifier, rows, cfs)]
    return Explanations(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def times(cfs: Path) -> int:
    """Return how many answers each query has in the file."""
    head = next(read_chunks(cfs, CHUNK))
    need_columns(head, OWN_COLUMNS, str(cfs))
    if not len(head):
        raise TableError("the table has no rows", source=str(cfs))
    same = (head["query"].astype(str) == str(head["query"].iloc[0])).to_numpy()
    return len(same) if same.all() else int(np.argmin(same))


def need_columns(table: pd.DataFrame, names: tuple[str, ...], source: str) -> None:
    """Refuse a table without one of these columns."""
    for name in names:
        if name not in table.columns:
            raise TableError(
                "the column is missing; is this a file that 'cfmark explain' or 'cfmark watermark' wrote?",
                source=source,
                column=name,
            )


def refuse(bad: NDArray[np.bool_], table: pd.DataFrame, source: str, column: str, message: str) -> None:
    """Raise TableError at the first bad row of a piece; the message may show the ``{value}`` there."""
    if bad.any():
        at = int(np.argmax(bad))
        text = message.format(value=table[column].iloc[at])
        raise TableError(text, source=source, row=int(table.index[at]) + 1, column=column)


def _piece(
    dataset: Dataset, classifier: Classifier, first: int, x: FloatArray, table: pd.DataFrame, source: str
) -> Explanations:
    n, m, d = len(x), len(table) // len(x), x.shape[1]
    _expect(table, "query", np.repeat(np.arange(first + 1, first + n + 1), m), source)
    _expect(table, "cf", np.tile(np.arange(1, m + 1), n), source)
    truths = table["found"].map(_TRUTHS)
    refuse(truths.isna().to_numpy(), table, source, "found", "{value!r} is neither True nor False")
    found = truths.to_numpy(bool)
    target = 1 - predict(classifier, x)
    cf = np.zeros((n * m, d), np.float32)
    if found.any():
        cf[found] = dataset.encoder.encode(table[found], source)
        _of_class(dataset, classifier, cf[found], np.repeat(target, m)[found], table[found], source)
    return Explanations(x, cf.reshape(n, m, d), found.reshape(n, m), target)


def _of_class(
    dataset: Dataset, classifier: Classifier, cf: FloatArray, target: Any, table: pd.DataFrame, source: str
) -> None:
    name = dataset.schema.target
    asked = dataset.encoder.encode_labels(table, source)
    refuse(
        asked != target,
        table,
        source,
        name,
        "the model gives the query this class already ({value}); do the files of the rows and of the "
        "counterfactuals belong together, and is it the same model?",
    )
    refuse(
        predict(classifier, cf) != target,
        table,
        source,
        name,
        "the model does not give this counterfactual its class, {value}; was it made for another model?",
    )


def _expect(table: pd.DataFrame, column: str, numbers: Any, source: str) -> None:
    told = pd.to_numeric(table[column], errors="coerce").to_numpy(np.float64)
    wrong = told != numbers
    if wrong.any():
        due = int(numbers[int(np.argmax(wrong))])
        refuse(
            wrong,
            table,
            source,
            column,
            f"{{value!r}} stands where {due} is due: one row an answer, in the "
            "order of the queries, as 'cfmark explain' writes them",
        )
