"""What every table is made of: records, the columns that show them, and the groups of rows they summarise."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd

Record = dict[str, Any]
CELL = ("dataset", "explainer", "scheme", "variant")
TEST = ("test", "pool", "score", "margin", "alpha")


class Column(NamedTuple):
    """A column: its head, how a record is shown in it, whether it is of numbers, and whether it always stays.

    A column that may go is left out where every line shows the same.
    """

    head: str
    show: Callable[[Record], str]
    number: bool = False
    stays: bool = True


class Table(NamedTuple):
    """A table: records for programs, and columns for people."""

    kind: str
    title: str
    columns: tuple[Column, ...]
    records: list[Record]


def shown(table: Table) -> tuple[list[Column], list[list[str]]]:
    """Return the columns that say something, and the lines (r, c) of what they show."""
    lines = [[column.show(record) for column in table.columns] for record in table.records]
    kept = [
        place
        for place, column in enumerate(table.columns)
        if column.stays or len({line[place] for line in lines}) > 1
    ]
    return [table.columns[place] for place in kept], [[line[place] for place in kept] for line in lines]


def markdown(table: Table) -> str:
    """Return the table in Markdown, under its title."""
    columns, lines = shown(table)
    heads = [[column.head for column in columns], ["--:" if column.number else "---" for column in columns]]
    return "\n".join([f"**{table.title}**", "", *(f"| {' | '.join(line)} |" for line in heads + lines)])


def cell_columns() -> tuple[Column, ...]:
    """Return the columns of the axes."""
    return (
        Column("data", text("dataset")),
        Column("method", text("explainer")),
        Column("scheme", text("scheme"), stays=False),
        Column("variant", text("variant"), stays=False),
    )


def text(name: str) -> Callable[[Record], str]:
    """Return what shows a text of a record."""
    return lambda record: str(record[name])


def number(name: str, form: str = ".2f", inside: str = "") -> Callable[[Record], str]:
    """Return what shows a number of a record, or of a record ``inside`` it; an absent one is a dash.

    >>> number("f1")({"f1": 0.987}), number("f1")({"f1": None})
    ('0.99', '-')
    """

    def show(record: Record) -> str:
        value = (record[inside] if inside else record).get(name)
        return "-" if value is None else format(value, form)

    return show


def of_record(frame: pd.DataFrame, record: str) -> pd.DataFrame:
    """Return the rows of a record, names that are not set as empty texts."""
    rows = frame[frame["record"] == record]
    names = [name for name in rows.columns if pd.api.types.is_string_dtype(rows[name].dtype)]
    return rows.fillna(dict.fromkeys(names, ""))


def verdicts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of verdicts, with ``named``: the test in words."""
    rows = of_record(frame, "verdict")
    rows = rows.astype({"flagged": bool, "guilty": bool})
    named = [named_test(*values) for values in zip(*(rows[name] for name in TEST[:4]), strict=True)]
    return rows.assign(named=pd.Series(named, index=rows.index, dtype=object))


def groups(rows: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[Record, pd.DataFrame]]:
    """Yield the values that rows share, and the rows, in the order in which they come."""
    for values, group in rows.groupby(list(by), sort=False, dropna=False):
        yield dict(zip(by, values, strict=True)), group


def named_test(test: str, pool: str, score: str, margin: str) -> str:
    """Say which test it is.

    >>> named_test("t", "", "", "paper"), named_test("calibrated", "all", "ratio", "")
    ('t, paper tau', 'ratio, all')
    """
    if test == "t":
        return f"t, {margin} tau" + (f", {pool}" if pool else "")
    return f"{score}, {pool}"


def f1(tp: int, fn: int, fp: int) -> float | None:
    """Return 2 TP / (2 TP + FP + FN); None where nothing was positive or called so."""
    whole = 2 * tp + fp + fn
    return 2 * tp / whole if whole else None


def change(before: float | None, after: float | None) -> float | None:
    """Return the relative change; None where there is nothing to compare with."""
    return after / before - 1 if before and after is not None else None


def mean(values: "pd.Series[Any]") -> float | None:
    """Return the mean of what is there, or None."""
    found = values.dropna()
    return float(found.mean()) if len(found) else None


def variant_of(record: Record) -> dict[str, str]:
    """Return the fields of a record's variant as texts."""
    return dict(part.split("=", 1) for part in str(record["variant"]).split(",") if "=" in part)
