"""Dataset and ``load(name)``: a schema, its encoder, and disjoint train, query and holdout rows."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from cfmark.data import sources
from cfmark.data.encoder import Encoder
from cfmark.data.schema import Feature, Schema
from cfmark.data.schema_file import read_schema
from cfmark.data.tables import read_table
from cfmark.errors import DatasetError, SchemaError, TableError
from cfmark.seeds import derive_seed
from cfmark.types import FloatArray, IntArray

SHARES = {"train": 0.55, "query": 0.25, "holdout": 0.20}
SYNTHETIC_ROWS = 2_000
#: Data sets in which every column may change: their two variants are the same.
PLAIN = ("mnist01", "synthetic")


class Split(NamedTuple):
    """Rows of one purpose.

    Attributes
    ----------
    x
        (n, d) encoded rows.
    y
        (n,) classes 0 and 1.
    rows
        (n,) the rows' numbers in the table, from 0.
    """

    x: FloatArray
    y: IntArray
    rows: IntArray


@dataclass(frozen=True)
class Dataset:
    """A table, ready for models: the owner trains on ``train``, an attacker queries ``query`` rows,
    and accuracy and agreement are measured on ``holdout`` rows that nobody queried.
    """

    name: str
    schema: Schema
    train: Split
    query: Split
    holdout: Split

    @cached_property
    def encoder(self) -> Encoder:
        """The translator between the table's units and [0, 1]^d."""
        return Encoder(self.schema)

    @property
    def width(self) -> int:
        """The number of encoded columns, d."""
        return self.encoder.width


def load(name: str, schema: str = "actionable", *, rows: int = SYNTHETIC_ROWS, seed: int = 0) -> Dataset:
    """Load a built-in data set.

    Parameters
    ----------
    name
        One of ``cfmark datasets list``.
    schema
        ``paper`` lets a counterfactual change everything, as the paper does; ``actionable`` keeps
        what a person cannot change.
    rows
        How many rows ``synthetic`` makes; other data sets have the rows they have.
    seed
        Which split, and which synthetic table.

    >>> cancer = load("cancer")
    >>> cancer.train.x.shape[1], len(cancer.query.x)
    (30, 143)
    """
    if name in PLAIN and schema not in ("paper", "actionable"):
        raise SchemaError(f"{name}: there is no variant {schema!r}; it has paper, actionable (the same here)")
    if name == "synthetic":
        description, table = synthetic(rows, seed)
        return from_table(name, table, description, seed=seed)
    if name == "mnist01":
        return _from_encoded(name, *sources.mnist01(), seed)
    if name not in sources.BUILT_IN:
        known = ", ".join([*sources.BUILT_IN, *PLAIN])
        raise DatasetError(f"there is no data set {name!r}; the built-in ones are {known}")
    description = read_schema(sources.schema_path(name), schema)
    return from_table(name, sources.table(name), description, source=name, seed=seed)


def load_table(
    path: str | Path, schema_path: str | Path, variant: str = "paper", *, seed: int = 0
) -> Dataset:
    """Load one's own CSV or Parquet table with its schema file (see ``cfmark datasets infer``)."""
    schema = read_schema(schema_path, variant)
    return from_table(Path(path).stem, read_table(path), schema, source=str(path), seed=seed)


def from_table(
    name: str, table: pd.DataFrame, schema: Schema, *, source: str = "table", seed: int = 0
) -> Dataset:
    """Make a Dataset of a table in memory."""
    encoder = Encoder(schema)
    y = encoder.encode_labels(table, source)
    x = encoder.encode(table, source)
    for feature in schema.features:
        values = table[feature.name]
        if (values == values.iloc[0]).all():
            raise TableError(
                f"every row has the value {values.iloc[0]}; a constant column explains nothing: "
                "take its section out of the schema and name it in 'drop'",
                source=source,
                row=1,
                column=feature.name,
            )
    return _from_encoded(name, schema, x, y, seed, source)


def synthetic(rows: int, seed: int = 0, numbers: int = 8) -> tuple[Schema, pd.DataFrame]:
    """Make a table with two curved classes: ``numbers`` numeric columns and one of three categories."""
    if rows < 20:
        raise DatasetError(f"a synthetic table needs at least 20 rows, not {rows}")
    random = np.random.default_rng(derive_seed("synthetic", rows, seed, numbers))
    values = random.beta(2.0, 2.0, (rows, numbers)).round(3)
    category = random.integers(0, 3, rows)
    slopes = np.random.default_rng(derive_seed("synthetic", "slopes", numbers)).normal(size=numbers)
    bend = np.sin(6.0 * values[:, 0]) * (values[:, 1] - 0.5)
    score = (values - 0.5) @ slopes + bend + 0.3 * (category - 1) + random.normal(0, 0.1, rows)
    features = [Feature(f"x{j}", low=0, high=1, precision=0.001) for j in range(numbers)]
    features.append(Feature("group", "categorical", categories=("a", "b", "c")))
    table = pd.DataFrame({f"x{j}": values[:, j] for j in range(numbers)})
    table["group"] = np.array(["a", "b", "c"], object)[category]
    table["label"] = (score > np.median(score)).astype(np.int64)
    return Schema(tuple(features), target="label"), table


def _from_encoded(
    name: str, schema: Schema, x: FloatArray, y: IntArray, seed: int, source: str = "table"
) -> Dataset:
    for label, count in zip(schema.labels, np.bincount(y, minlength=2), strict=True):
        if count < 10:
            raise TableError(
                f"{count} rows have the label {label}, at least 10 are needed",
                source=source,
                column=schema.target,
            )
    parts = _deal(np.random.default_rng(derive_seed("split", name, len(y), seed)), y)
    train, query, holdout = (Split(x[rows], y[rows], rows) for rows in parts)
    return Dataset(name, schema, train, query, holdout)


def _deal(random: np.random.Generator, y: IntArray) -> list[IntArray]:
    """Deal the rows of each class at random to the splits, so that all have the same share of each."""
    order = random.permutation(len(y))
    place = np.empty(len(y))
    for label in (0, 1):
        of_class = order[y[order] == label]
        place[of_class] = (np.arange(len(of_class)) + 0.5) / len(of_class)
    part = np.searchsorted(np.cumsum(list(SHARES.values()))[:-1], place, side="right")
    return [np.flatnonzero(part == k) for k in range(len(SHARES))]
