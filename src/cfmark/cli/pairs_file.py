"""The owner's file of pairs: each query, what was issued for it, and the counterparts that nobody got.

One row a point, in the data set's own columns and units. ``role`` says what a row is; the rows of a query
stand together: the query itself (cf 0), then each counterfactual as it was issued, and its counterpart. The
target column holds the class that the query asked for. A CSV file has no room for facts about itself: a JSON
file beside it has them.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfmark.cli.cf_file import need_columns, refuse
from cfmark.cli.stream import CHUNK
from cfmark.data import Dataset, read_chunks
from cfmark.errors import ConfigError, TableError
from cfmark.types import FloatArray, IntArray, MarkedExplanations

ROLES = ("query", "issued", "counterpart")
OWN_COLUMNS = ("query", "cf", "role")
FORMAT = 1
#: More counterfactuals than any query has.
MOST_CFS = 1000


class Points(NamedTuple):
    """The r rows of a file: numbers of query and cf, place of the role in ROLES, encoded values, class."""

    query: IntArray
    cf: IntArray
    role: IntArray
    x: FloatArray
    target: IntArray


def pairs_table(dataset: Dataset, marked: MarkedExplanations, first_row: int) -> pd.DataFrame:
    """Return marked explanations as rows of a file; what was not found has none."""
    rows, answers = np.nonzero(marked.found)
    n, k = len(marked.x), len(rows)
    query = np.concatenate([np.arange(n), rows, rows])
    cf = np.concatenate([np.zeros(n, np.int64), answers + 1, answers + 1])
    role = np.repeat([0, 1, 2], [n, k, k])
    issued, counterpart = marked.issued[rows, answers], marked.counterpart[rows, answers]
    values = dataset.encoder.decode(np.concatenate([marked.x, issued, counterpart]))
    values[dataset.schema.target] = np.array(dataset.schema.labels, object)[marked.target[query]]
    values.insert(0, "query", query + first_row + 1)
    values.insert(1, "cf", cf)
    values.insert(2, "role", np.array(ROLES)[role])
    return values.iloc[np.lexsort((role, cf, query))]


def read_pairs(dataset: Dataset, path: Path) -> MarkedExplanations:
    """Read a file of pairs; whatever does not fit together is a TableError with file, row and column."""
    source = str(path)
    pieces = [_points(dataset, table, source) for table in read_chunks(path, CHUNK)]
    points = Points(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))
    asked = points.role == 0
    numbers, place = np.unique(points.query[asked], return_index=True)
    if len(numbers) < asked.sum():
        again = np.setdiff1d(np.flatnonzero(asked), np.flatnonzero(asked)[place])[0]
        raise TableError("this query is there twice", source=source, row=int(again) + 1, column="query")
    rows = np.searchsorted(numbers, points.query)
    known = np.isin(points.query, numbers)
    _all(known, "there is no row with role 'query' for this number", source, "query")
    target = points.target[asked][place]
    _all(points.target == target[rows], "the query asks for another class", source, dataset.schema.target)
    shape = len(numbers), max(int(points.cf.max()), 1)
    issued, found = _placed(points, rows, 1, shape, source)
    counterpart, there = _placed(points, rows, 2, shape, source)
    lone = (found != there)[rows, np.maximum(points.cf - 1, 0)] & ~asked
    _all(~lone, "a pair needs both an issued row and its counterpart; one of them is missing", source, "role")
    paired = found & (issued != counterpart).any(axis=2)
    return MarkedExplanations(points.x[asked][place], issued, counterpart, found, paired, target)


def write_facts(path: Path, facts: dict[str, Any]) -> None:
    """Write what made a file of pairs, beside it."""
    beside = facts_of(path)
    part = beside.with_suffix(".json.part")
    part.write_text(json.dumps({"format": FORMAT, **facts}, indent=2) + "\n", encoding="utf-8")
    part.replace(beside)


def read_facts(path: Path) -> dict[str, Any] | None:
    """Return what made a file of pairs, or None where nothing stands beside it."""
    beside = facts_of(path)
    if not beside.is_file():
        return None
    try:
        facts = json.loads(beside.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        raise ConfigError(f"{beside}: not readable as JSON ({problem})") from problem
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise ConfigError(f"{beside}: it does not say what made {path} (no format {FORMAT})")
    return facts


def facts_of(path: Path) -> Path:
    """Return the file beside a file of pairs: pairs.csv has pairs.json."""
    return path.with_suffix(".json")


def _points(dataset: Dataset, table: pd.DataFrame, source: str) -> Points:
    need_columns(table, OWN_COLUMNS, source)
    role = table["role"].map({name: i for i, name in enumerate(ROLES)})
    refuse(role.isna().to_numpy(), table, source, "role", f"{{value!r}} is not one of {', '.join(ROLES)}")
    query, cf = _whole(table, "query", source), _whole(table, "cf", source)
    refuse(
        cf > MOST_CFS, table, source, "cf", f"{{value}}: no query has more than {MOST_CFS} counterfactuals"
    )
    roles: IntArray = np.asarray(role, np.int64)
    refuse((cf == 0) != (roles == 0), table, source, "cf", "{value}: a query has cf 0, an answer 1 and more")
    x, target = dataset.encoder.encode(table, source), dataset.encoder.encode_labels(table, source)
    return Points(query, cf, roles, x, target)


def _whole(table: pd.DataFrame, column: str, source: str) -> IntArray:
    values = pd.to_numeric(table[column], errors="coerce").to_numpy(np.float64)
    whole = (values >= 0) & (values % 1 == 0) & (values < 2**53)
    refuse(~whole, table, source, column, "{value!r} is not a whole number")
    return values.astype(np.int64)


def _placed(
    points: Points, rows: IntArray, role: int, shape: tuple[int, int], source: str
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return values (n, m, d) of one role, and which (n, m) are there."""
    chosen = np.flatnonzero(points.role == role)
    cell = rows[chosen], points.cf[chosen] - 1
    _, first = np.unique(np.ravel_multi_index(cell, shape), return_index=True)
    once = np.ones(len(points.role), bool)
    once[np.delete(chosen, first)] = False
    _all(once, f"the {ROLES[role]} row of this counterfactual is there twice", source, "cf")
    values = np.zeros((*shape, points.x.shape[1]), np.float32)
    there = np.zeros(shape, bool)
    values[cell], there[cell] = points.x[chosen], True
    return values, there


def _all(right: NDArray[np.bool_], message: str, source: str, column: str) -> None:
    if not right.all():
        raise TableError(message, source=source, row=int(np.argmin(right)) + 1, column=column)
