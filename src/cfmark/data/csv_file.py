"""Read CSV files piece by piece, every cell as text, and name the cell that makes a file unreadable."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from cfmark.errors import TableError

_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def csv_columns(path: Path) -> list[str]:
    """Return the header's names; a column without a name is called as pandas calls it, "Unnamed: 0"."""
    try:
        header = pd.read_csv(path, header=None, nrows=2, dtype=str, keep_default_na=False).iloc[0]
    except pd.errors.EmptyDataError:
        raise TableError("the file is empty", source=str(path)) from None
    except (pd.errors.ParserError, UnicodeDecodeError) as problem:
        raise _explain(path, problem) from problem
    names = [str(name).strip() or f"Unnamed: {place}" for place, name in enumerate(header)]
    for separator, word in _OTHER_SEPARATORS.items():
        if len(names) == 1 and separator in names[0]:
            raise TableError(
                f"the values are separated by {word}; save the table with commas", source=str(path)
            )
    return names


def csv_chunks(path: Path, size: int, names: list[str]) -> Iterator[pd.DataFrame]:
    """Yield the rows below the header, ``size`` at a time."""
    try:
        reader = pd.read_csv(
            path, chunksize=size, dtype=str, keep_default_na=False, header=0, names=names, index_col=False
        )
        with reader:
            yield from reader
    except (pd.errors.ParserError, UnicodeDecodeError) as problem:
        raise _explain(path, problem) from problem


def _explain(path: Path, problem: Exception) -> TableError:
    """Read the file once more, slowly, for the row and the column of what pandas could not read."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
        try:
            names: list[str] = []
            for row, cells in enumerate(cells for cells in csv.reader(lines) if cells):
                names = names or cells
                _check_cells(path, names, cells, row)
        except TableError as found:
            return found
        except csv.Error:
            pass
    text = " ".join(str(problem).split())
    return TableError(f"the file is not a readable CSV table ({text})", source=str(path))


def _check_cells(path: Path, names: list[str], cells: list[str], row: int) -> None:
    for place, cell in enumerate(cells):
        if any("\udc80" <= letter <= "\udcff" for letter in cell):
            readable = cell.encode("utf-8", "surrogateescape").decode("latin-1")
            raise TableError(
                f"{readable!r} is not UTF-8 text; save the file with the encoding UTF-8",
                source=str(path),
                row=row or None,
                column=names[place] if row and place < len(names) else None,
            )
    if len(cells) > len(names):
        raise TableError(
            f"the row has {len(cells)} values, the header names {len(names)} columns",
            source=str(path),
            row=row,
        )
