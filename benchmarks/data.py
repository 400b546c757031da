"""The synthetic table that speeds are measured on: numbers alone, as the authors' is."""

from cfmark.data import Dataset, Schema, from_table
from cfmark.data.datasets import synthetic


def numbers(rows: int, width: int) -> Dataset:
    """Return so many rows of ``width`` numeric columns."""
    schema, table = synthetic(rows, 0, width)
    features = tuple(f for f in schema.features if f.kind != "categorical")
    return from_table(f"synthetic-{width}", table.drop(columns="group"), Schema(features, schema.target))
