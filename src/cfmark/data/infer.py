"""A first schema for one's own table: TOML text with the reasons beside each choice, to be edited."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from cfmark.data.infer_numbers import advice, number_lines, toml_text
from cfmark.data.scan import Tally, scan
from cfmark.data.schema import MAX_VALUE, Value, spelling
from cfmark.data.tables import check_columns, column_names
from cfmark.errors import TableError

MAX_CATEGORIES = 1_000
#: Whole numbers with at most so many different values are taken for codes of categories.
FEW_VALUES = 12
# Below this many rows, values that all differ say nothing.
_ROWS_FOR_ID = 10
# A column with so many numbers is a column of numbers, and its texts are mistakes.
_NUMBERS_SHARE = 0.9
_FIXED_WORDS = {"age", "sex", "gender", "race", "ethnicity", "birth", "marital", "marriage", "nationality"}
_RISING_WORDS = {"age", "tenure", "since", "oldest"}


def infer_schema(
    path: str | Path, target: str, labels: Sequence[Value] | None = None, drop: Collection[str] = ()
) -> str:
    """Return a commented schema file for a CSV or Parquet table.

    Parameters
    ----------
    path
        The table; it is read once, piece by piece.
    target
        The column of the label, which must have two values.
    labels
        The label's values, class 0 first; by default in their order.
    drop
        Columns to leave out unseen.

    Raises
    ------
    TableError
        A column that no schema can describe; it names the file, the row and the column.
    """
    path = Path(path)
    names = column_names(path)
    check_columns(names, [target, *drop], str(path))
    if target in drop:
        raise TableError("the target cannot be left out", source=str(path), column=target)
    tallies = {tally.name: tally for tally in scan(path, [name for name in names if name not in drop])}
    rows, label_lines = tallies[target].rows, _label_lines(tallies.pop(target), labels, str(path))
    sections, dropped = [], {name: "named by --drop" for name in drop}
    for tally in tallies.values():
        _check_cells(tally, str(path))
        reason = _id_reason(tally)
        if reason:
            dropped[tally.name] = reason
        else:
            sections.append(_section(tally, str(path)))
    if not sections:
        raise TableError("no column is left that could be a feature", source=str(path))
    return "\n\n".join([_head(path, target, rows, label_lines, dropped), *sections]) + "\n"


def _check_cells(tally: Tally, source: str) -> None:
    """Refuse a column that no schema can describe."""
    place = what = None
    if tally.first_blank:
        place, what = tally.first_blank, "the value is missing; fill it"
    elif len(tally.counts) == 1:
        value = next(iter(tally.counts))
        place = 1, value
        what = f"every row has the value {value!r}, a constant column explains nothing; take it out"
    elif tally.first_text and not _is_text(tally):
        place = tally.first_text
        share = f"{tally.numbers:,} of {tally.rows:,} cells are"
        what = f"{place[1]!r} is not a number, {share}; correct it"
    elif tally.first_huge and not _is_text(tally):
        place = tally.first_huge
        what = f"{place[1]} is too large (the limit is {MAX_VALUE:g} in size); use larger units"
    if place:
        raise TableError(f"{what}, {advice(tally)}", source=source, row=place[0], column=tally.name)


def _is_text(tally: Tally) -> bool:
    return tally.first_text is not None and tally.numbers < _NUMBERS_SHARE * tally.rows


def _id_reason(tally: Tally) -> str:
    """Say why a column looks like an identifier, if it does."""
    if tally.rows < _ROWS_FOR_ID or not tally.all_differ:
        return ""
    if _is_text(tally):
        return f"{tally.distinct} different texts in {tally.rows:,} rows"
    if tally.decimals == 0 and tally.high - tally.low + 1 == tally.rows:
        return f"the whole numbers from {tally.low:.0f} to {tally.high:.0f}, each once"
    return ""


def _head(path: Path, target: str, rows: int, label_lines: list[str], dropped: dict[str, str]) -> str:
    lines = [
        f"# Schema of {toml_text(path.name)}: {rows:,} rows. A first guess, to be edited.",
        "# Look through: what a person cannot change (immutable), what may only rise or fall (direction),",
        "# the step between served values (precision), the units. Take the '#' from a hint to use it.",
        "# The bounds are those of the data: widen them if later rows may hold more.",
        "",
        f"target = {toml_text(target)}",
        *label_lines,
    ]
    if dropped:
        lines += [f"# {toml_text(name)} is left out: {reason}" for name, reason in dropped.items()]
        lines.append(f"drop = [{', '.join(map(toml_text, dropped))}]")
    return "\n".join(lines)


def _label_lines(tally: Tally, labels: Sequence[Value] | None, source: str) -> list[str]:
    if tally.first_blank:
        row, _ = tally.first_blank
        raise TableError("the label is missing", source=source, row=row, column=tally.name)
    found = _sorted(tally)
    if len(found) > 2:
        first, second, third = list(tally.first_rows)[:3]
        raise TableError(
            f"{third!r} is a third label, after {first!r} and {second!r}; a target has two values",
            source=source,
            row=tally.first_rows[third],
            column=tally.name,
        )
    if len(found) == 1:
        raise TableError(f"every row has the label {found[0]!r}", source=source, row=1, column=tally.name)
    chosen = [spelling(label) for label in labels] if labels else found
    if sorted(chosen) != sorted(found):
        raise TableError(
            f"the labels are {found[0]} and {found[1]}, not {' and '.join(chosen)}",
            source=source,
            column=tally.name,
        )
    shares = [f"{toml_text(value)} {tally.counts[value] / tally.rows:.1%}" for value in chosen]
    return [
        f"# Class 0, then class 1: {', '.join(shares)} of the rows.",
        f"labels = {_list(chosen)}",
    ]


def _section(tally: Tally, source: str) -> str:
    if _is_text(tally):
        if len(tally.counts) > MAX_CATEGORIES:
            raise TableError(
                f"{tally.distinct} different texts are too many categories (the limit is "
                f"{MAX_CATEGORIES:,}); group them, {advice(tally)}",
                source=source,
                row=list(tally.first_rows.values())[MAX_CATEGORIES],
                column=tally.name,
            )
        return _category_section(tally, "different texts: a category", [])
    if len(tally.counts) == 2:
        return _category_section(tally, "different numbers: a category", [])
    why, lines = number_lines(tally, source)
    if tally.decimals == 0 and len(tally.counts) <= min(FEW_VALUES, tally.rows // 10):
        hints = [
            '# If their order means something: kind = "ordinal". If they are amounts, instead of both lines:'
        ]
        hints += [f"# {line}" for line in lines]
        return _category_section(tally, "different whole numbers: taken for codes of a category", hints)
    return _written(tally, why, lines, _rising_hint(tally))


def _category_section(tally: Tally, what: str, hints: list[str]) -> str:
    rarest = min(tally.counts, key=lambda value: tally.counts[value])
    share = f"{tally.counts[rarest]:,} of {tally.rows:,} rows"
    why = f"{tally.distinct} {what}. The rarest: {toml_text(rarest)}, {share}."
    lines = ['kind = "categorical"', f"categories = {_list(_sorted(tally))}"]
    return _written(tally, why, lines, hints)


def _written(tally: Tally, why: str, lines: list[str], hints: list[str]) -> str:
    fixed = "  # likely: a person cannot change it" if _words(tally.name) & _FIXED_WORDS else ""
    number = lines[0] != 'kind = "categorical"'
    return "\n".join(
        [
            f"# {why}",
            f"[features.{_key(tally.name)}]",
            *lines,
            *hints,
            f"# immutable = true{fixed}",
            *(['# unit = "..."'] if number else []),
        ]
    )


def _rising_hint(tally: Tally) -> list[str]:
    likely = "  # likely: it can only grow" if _words(tally.name) & _RISING_WORDS else ""
    return [f'# direction = "up"{likely}']


def _sorted(tally: Tally) -> list[str]:
    return sorted(tally.counts, key=str if tally.first_text else float)


def _words(name: str) -> set[str]:
    return set(re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", name).lower()))


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_text(name)


def _list(values: Sequence[str]) -> str:
    """Write a TOML list: numbers if all are, else texts."""
    if all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", value) for value in values):
        return f"[{', '.join(values)}]"
    return f"[{', '.join(map(toml_text, values))}]"
