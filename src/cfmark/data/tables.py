"""Read and write tables, and say what is wrong with one: file, row and column.

Rows are counted as a person counts them in the file: the first row below the header is row 1.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cfmark.data.csv_file import csv_chunks, csv_columns
from cfmark.data.schema import MAX_VALUE, Feature, Schema, spelling
from cfmark.errors import TableError

# A bound that was stored in 32 bits differs from the schema's by this part of a step at most.
_ROUNDING = 0.05


def read_table(path: str | Path, rows: int | None = None) -> pd.DataFrame:
    """Read a whole CSV or Parquet file (or its first ``rows`` rows), every cell of a CSV as text."""
    chunks = list(read_chunks(path, rows or 65_536)) if rows is None else [next(read_chunks(path, rows))]
    return pd.concat(chunks, ignore_index=True)


def read_chunks(path: str | Path, size: int) -> Iterator[pd.DataFrame]:
    """Read a file piece by piece, so that memory does not grow with its length."""
    path = Path(path)
    if not path.is_file():
        raise TableError("there is no such file", source=str(path))
    seen = 0
    for chunk in _parquet_chunks(path, size) if _is_parquet(path) else _csv_chunks(path, size):
        chunk.index = pd.RangeIndex(seen, seen + len(chunk))
        seen += len(chunk)
        yield chunk
    if not seen:
        raise TableError("the table has no rows", source=str(path))


def column_names(path: str | Path) -> list[str]:
    """Return the names of a file's columns; a name that occurs twice raises TableError."""
    path = Path(path)
    if not path.is_file():
        raise TableError("there is no such file", source=str(path))
    if not _is_parquet(path):
        names = csv_columns(path)
    else:
        with _open_parquet(path) as file:
            names = list(file.schema_arrow.names)
    check_columns(names, [], str(path))
    return names


def write_table(table: pd.DataFrame, path: str | Path) -> None:
    """Write a CSV or Parquet file, complete or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    if _is_parquet(path):
        table.to_parquet(part, index=False)
    else:
        table.to_csv(part, index=False, lineterminator="\n")
    part.replace(path)


def check_table(
    table: pd.DataFrame, schema: Schema, source: str, *, features: bool = True, target: bool = False
) -> pd.DataFrame:
    """Return the schema's columns as numbers and known categories; the first bad cell raises TableError."""
    wanted = (schema.names if features else []) + ([schema.target] if target else [])
    check_columns(list(table.columns), wanted, source)
    if not len(table):
        raise TableError("the table has no rows", source=source)
    checked: dict[str, Any] = {}
    for feature in schema.features if features else ():
        column = table[feature.name]
        if feature.is_number:
            checked[feature.name] = _check_number(column, feature, source)
        else:
            checked[feature.name] = _check_choice(column, feature.categories, source)
    if target:
        checked[schema.target] = _check_choice(table[schema.target], schema.labels, source)
    return pd.DataFrame(checked, index=table.index)


def check_columns(names: Collection[str], wanted: Iterable[str], source: str) -> None:
    """Raise TableError if a wanted column is missing or a column's name occurs twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise TableError("the column's name occurs twice", source=source, column=str(name))
    for name in wanted:
        if name not in names:
            raise TableError(
                f"the column is missing; the table has {_some(names)}",
                source=source,
                column=name,
            )


def numbers(column: "pd.Series[Any]", source: str) -> "pd.Series[Any]":
    """Return a column as float64, or raise TableError at the first cell that is not a usable number."""
    values = pd.to_numeric(column, errors="coerce").astype(np.float64)
    _refuse(column, values.isna() & column.isna() | is_blank(column), source, "the value is missing")
    _refuse(column, values.isna(), source, "{value!r} is not a number")
    _refuse(column, values.abs() == np.inf, source, "{value} is not a finite number")
    _refuse(
        column,
        values.abs() >= MAX_VALUE,
        source,
        f"{{value}} is too large (the limit is {MAX_VALUE:g} in size)",
    )
    return values


def _check_number(column: "pd.Series[Any]", feature: Feature, source: str) -> "pd.Series[Any]":
    values = numbers(column, source)
    hair = _ROUNDING * feature.precision
    inside = values.between(feature.low - hair, feature.high + hair) | values.isin(feature.special)
    codes = f" (or {', '.join(f'{c:g}' for c in feature.special)})" if feature.special else ""
    message = f"{{value}} is outside the schema's {feature.low:g}..{feature.high:g}{codes}"
    _refuse(column, ~inside, source, message)
    if feature.kind == "integer":
        _refuse(column, values % 1 != 0, source, "{value} is not a whole number")
    return values


def _check_choice(
    column: "pd.Series[Any]", choices: tuple[str | int | float, ...], source: str
) -> "pd.Series[Any]":
    known = {spelling(choice): choice for choice in choices}
    found = column.map({value: known.get(spelling(value)) for value in column.unique()})
    _refuse(column, found.isna() & (column.isna() | is_blank(column)), source, "the value is missing")
    shown = _some(choices).replace("{", "{{").replace("}", "}}")
    _refuse(column, found.isna(), source, f"{{value!r}} is not one of {shown}")
    return found


def _some(names: Iterable[object]) -> str:
    """Name the first dozen."""
    first = list(map(str, islice(names, 13)))
    return ", ".join(first[:12]) + (", ..." if len(first) > 12 else "")


def is_blank(column: "pd.Series[Any]") -> "pd.Series[bool]":
    """Return which cells hold no value: empty, or a word for it."""
    if pd.api.types.is_numeric_dtype(column):
        return pd.Series(False, index=column.index)
    return column.astype(str).str.strip().isin(["", "nan", "NaN", "NA", "N/A", "null", "None"])


def _refuse(column: "pd.Series[Any]", bad: "pd.Series[bool]", source: str, message: str) -> None:
    if bad.any():
        row = int(np.argmax(bad.to_numpy()))
        value = column.iloc[row]
        text = message.format(value=value.item() if isinstance(value, np.generic) else value)
        raise TableError(text, source=source, row=int(column.index[row]) + 1, column=str(column.name))


def _is_parquet(path: Path) -> bool:
    return path.suffix == ".parquet"


def _csv_chunks(path: Path, size: int) -> Iterator[pd.DataFrame]:
    yield from csv_chunks(path, size, column_names(path))


def _parquet_chunks(path: Path, size: int) -> Iterator[pd.DataFrame]:
    column_names(path)
    with _open_parquet(path) as file:
        for batch in file.iter_batches(batch_size=size):
            yield batch.to_pandas()


def _open_parquet(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as problem:
        text = " ".join(str(problem).split())
        raise TableError(f"the file is not a readable Parquet table ({text})", source=str(path)) from problem
