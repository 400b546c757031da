"""One pass over a table of any length: what each column holds, in bounded memory."""

from dataclasses import dataclass, field
from math import gcd, inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cfmark.data.schema import MAX_VALUE, spelling
from cfmark.data.tables import column_names, is_blank, read_chunks
from cfmark.errors import TableError

MAX_COLUMNS = 10_000
MAX_NEGATIVES = 6
_CELLS_AT_ONCE = 2_000_000
_VALUES_REMEMBERED = 5_000_000


@dataclass
class Tally:
    """What one column holds.

    Attributes
    ----------
    remembered
        Of how many different values the counts are kept; more are not told apart.
    rows
        Cells seen.
    counts
        How often each value occurs, by its spelling, in the order of their first rows.
    first_rows
        The row of a value's first cell, counted from 1.
    is_full
        There are more different values than ``remembered``.
    all_differ
        No value occurs twice, as far as values were remembered.
    numbers
        How many cells are numbers.
    first_text, first_blank, first_huge
        The first cell that is no number, is empty, or is too large: its row, and what it says.
    low, high
        The smallest and the largest number.
    decimals
        The most digits behind the point, as written.
    divisor
        The greatest common divisor of the numbers, if they are whole.
    negatives
        The different numbers below zero, or the first few of them.
    lowest_above
        The smallest number from zero up.
    """

    name: str
    remembered: int
    rows: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    first_rows: dict[str, int] = field(default_factory=dict)
    is_full: bool = False
    all_differ: bool = True
    numbers: int = 0
    first_text: tuple[int, str] | None = None
    first_blank: tuple[int, str] | None = None
    first_huge: tuple[int, str] | None = None
    low: float = inf
    high: float = -inf
    decimals: int = 0
    divisor: int = 0
    negatives: set[float] = field(default_factory=set)
    lowest_above: float = inf

    @property
    def distinct(self) -> str:
        """How many different values there are, for people."""
        return f"more than {self.remembered:,}" if self.is_full else f"{len(self.counts):,}"

    def add(self, column: "pd.Series[Any]") -> None:
        """Take in the column's next cells."""
        blank = np.asarray(column.isna() | is_blank(column), bool)
        is_typed = pd.api.types.is_numeric_dtype(column)
        texts = column.astype(str if is_typed else object).map(str).str.strip().to_numpy(object)
        codes, different = pd.factorize(texts)
        firsts = np.unique(codes, return_index=True)[1] + self.rows + 1
        sizes = np.bincount(codes, minlength=len(different))
        values = pd.to_numeric(pd.Series(different, dtype=object), errors="coerce").to_numpy(np.float64)
        if blank.any():
            row = int(np.argmax(blank))
            self.first_blank = self.first_blank or (self.rows + row + 1, texts[row])
        self._add_numbers(different, values, firsts, sizes)
        self._count(different, firsts, sizes)
        self.rows += len(column)

    def _add_numbers(self, texts: Any, values: Any, rows: Any, sizes: Any) -> None:
        bad = np.isnan(values)
        if bad.any():
            place = int(np.argmax(bad))
            self.first_text = self.first_text or (int(rows[place]), texts[place])
        huge = np.abs(values) >= MAX_VALUE
        if huge.any():
            place = int(np.argmax(huge))
            self.first_huge = self.first_huge or (int(rows[place]), texts[place])
        usable = ~(bad | huge)
        self.numbers += int(sizes[~bad].sum())
        if not usable.any():
            return
        found = values[usable]
        self.low, self.high = min(self.low, float(found.min())), max(self.high, float(found.max()))
        self.decimals = max(self.decimals, max(map(_decimals, texts[usable], found)))
        if self.decimals == 0:
            self.divisor = gcd(self.divisor, int(np.gcd.reduce(found.astype(np.int64))))
        self.negatives.update(sorted(set(found[found < 0].tolist()))[:MAX_NEGATIVES])
        self.lowest_above = min(self.lowest_above, float(found[found >= 0].min(initial=inf)))

    def _count(self, texts: Any, rows: Any, sizes: Any) -> None:
        if self.is_full:
            return
        for text, row, size in zip(texts, rows.tolist(), sizes.tolist(), strict=True):
            value = spelling(text)
            self.all_differ &= size == 1 and value not in self.counts
            self.first_rows.setdefault(value, row)
            self.counts[value] = self.counts.get(value, 0) + size
        self.is_full = len(self.counts) > self.remembered


def scan(path: Path, wanted: list[str] | None = None) -> list[Tally]:
    """Tally the columns of a CSV or Parquet file (or the wanted ones)."""
    names = column_names(path)
    if len(names) > MAX_COLUMNS:
        raise TableError(
            f"the table has {len(names):,} columns, at most {MAX_COLUMNS:,} are read", source=str(path)
        )
    remembered = min(100_000, max(2_000, _VALUES_REMEMBERED // len(names)))
    tallies = [Tally(name, remembered) for name in (names if wanted is None else wanted)]
    for chunk in read_chunks(path, min(65_536, max(100, _CELLS_AT_ONCE // len(names)))):
        for tally in tallies:
            tally.add(chunk[tally.name])
    return tallies


def _decimals(text: str, value: float) -> int:
    """Count the digits behind the point, trailing zeros left out: 3 for "1.250e-1"."""
    digits, _, exponent = text.lower().partition("e")
    behind = len(digits.partition(".")[2].rstrip("0"))
    if not exponent:
        return behind
    return 0 if value == 0 else max(0, behind - int(exponent))
