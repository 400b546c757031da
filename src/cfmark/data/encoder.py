"""Encoder: a raw table to an array in [0, 1]^d and back, exact on the schema's grid.

Numbers and ordinals come first, one column each, then the categorical features as one-hot groups.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfmark.data.schema import Feature, Schema
from cfmark.data.tables import check_table
from cfmark.types import FloatArray, IntArray

#: How far from a step, in steps, a number may be that was meant to be on it.
GRID_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Encoder:
    """Translate between a table in the schema's own units and an array in [0, 1]^d."""

    schema: Schema

    @cached_property
    def scalars(self) -> tuple[Feature, ...]:
        """The features that take one column: numbers and ordinals."""
        return tuple(f for f in self.schema.features if f.kind != "categorical")

    @cached_property
    def categoricals(self) -> tuple[Feature, ...]:
        """The features that take a one-hot group."""
        return tuple(f for f in self.schema.features if f.kind == "categorical")

    @cached_property
    def groups(self) -> tuple[tuple[int, int], ...]:
        """First and past-the-last column of every one-hot group."""
        edges = np.cumsum([len(self.scalars), *(f.width for f in self.categoricals)]).tolist()
        return tuple(pairwise(edges))

    @cached_property
    def width(self) -> int:
        """The number of encoded columns, d."""
        return sum(f.width for f in self.schema.features)

    @cached_property
    def columns(self) -> list[str]:
        """The names of the encoded columns."""
        hot = [f"{f.name}={c}" for f in self.categoricals for c in f.categories]
        return [f.name for f in self.scalars] + hot

    @cached_property
    def step(self) -> FloatArray:
        """(c,) the grid's step in the encoded column of each scalar feature."""
        return (1.0 / np.array([f.steps for f in self.scalars])).astype(np.float32)

    def encode(self, table: pd.DataFrame, source: str = "table") -> FloatArray:
        """Return the (n, d) array of a table; a bad cell raises TableError."""
        return self._encode_checked(check_table(table, self.schema, source))

    def _encode_checked(self, table: pd.DataFrame) -> FloatArray:
        encoded = np.zeros((len(table), self.width), np.float32)
        for j, feature in enumerate(self.scalars):
            grid = _to_grid(feature, table[feature.name])
            encoded[:, j] = np.minimum(grid.astype(np.float32) * self.step[j], np.float32(1))
        rows = np.arange(len(table))
        for feature, (start, _) in zip(self.categoricals, self.groups, strict=True):
            encoded[rows, start + _positions(feature, table[feature.name])] = 1
        return encoded

    def between_steps(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Say which numbers (n, c) of a table lie between two steps of the grid.

        ``encode`` takes the nearest step for them.
        """
        table = check_table(table, self.schema, "table")
        between = np.zeros((len(table), len(self.scalars)), bool)
        for j, feature in enumerate(self.scalars):
            if feature.kind != "ordinal":
                grid = (table[feature.name].to_numpy(np.float64) - feature.lowest) / feature.precision
                between[:, j] = np.abs(grid - np.rint(grid)) > GRID_TOLERANCE
        return between

    def decode(self, x: FloatArray) -> pd.DataFrame:
        """Return the table of an (n, d) array, every value on the schema's grid."""
        x = np.asarray(x)
        columns: dict[str, Any] = {}
        for j, feature in enumerate(self.scalars):
            grid = np.clip(np.rint(x[:, j] / np.float64(self.step[j])), 0, feature.steps)
            columns[feature.name] = _from_grid(feature, grid)
        for feature, (start, stop) in zip(self.categoricals, self.groups, strict=True):
            columns[feature.name] = _categories(feature)[x[:, start:stop].argmax(axis=1)]
        return pd.DataFrame(columns, columns=self.schema.names)

    def texts(self, x: FloatArray) -> list[dict[str, str]]:
        """Return each row of an (n, d) array as a person is told it: every value as text at its precision.

        The same row has the same texts on every machine: they are what coins and records are made from.
        """
        table = self.decode(x)
        columns = [_as_texts(f, table[f.name].tolist()) for f in self.schema.features]
        return [dict(zip(self.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]

    def encode_labels(self, table: pd.DataFrame, source: str = "table") -> IntArray:
        """Return the (n,) classes 0 and 1 of the table's target column."""
        checked = check_table(table, self.schema, source, features=False, target=True)
        return np.asarray(checked[self.schema.target] == self.schema.labels[1], np.int64)


def _to_grid(feature: Feature, values: "pd.Series[Any]") -> NDArray[np.float64]:
    if feature.kind == "ordinal":
        return _positions(feature, values).astype(np.float64)
    return np.rint((values.to_numpy(np.float64) - feature.lowest) / feature.precision)


def _from_grid(feature: Feature, grid: NDArray[np.float64]) -> NDArray[Any]:
    if feature.kind == "ordinal":
        return _categories(feature)[grid.astype(np.int64)]
    values = np.round(feature.lowest + grid * feature.precision, feature.decimals)
    return values.astype(np.int64) if feature.kind == "integer" else values


def _as_texts(feature: Feature, values: list[Any]) -> list[str]:
    if feature.kind == "continuous":
        return [f"{value + 0.0:.{feature.decimals}f}" for value in values]  # no minus before a zero
    return [str(value) for value in values]


def _categories(feature: Feature) -> NDArray[Any]:
    if all(isinstance(c, int) for c in feature.categories):
        return np.array(feature.categories, np.int64)
    return np.array(feature.categories, object)


def _positions(feature: Feature, values: "pd.Series[Any]") -> IntArray:
    return np.asarray(values.map({c: i for i, c in enumerate(feature.categories)}), np.int64)
