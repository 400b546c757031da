"""What marks cost: validity and proximity before and after (the paper's Table 2), and the losses' forms."""

from typing import Any

import pandas as pd

from cfmark.evaluation.paper import reported
from cfmark.evaluation.tables_base import (
    CELL,
    Column,
    Record,
    Table,
    cell_columns,
    change,
    f1,
    groups,
    mean,
    number,
    of_record,
    text,
    variant_of,
    verdicts,
)

_MEASURED = ("validity", "l1")
_WHEN = ("before", "after")


def quality(frame: pd.DataFrame) -> list[Record]:
    """Return a record for each cell: means over its row draws, on the rows that were marked.

    ``diluted_`` values are the paper's way: averages over every row of the table, of which the query split
    alone is marked.
    """
    records = []
    for axes, group in groups(of_record(frame, "quality"), CELL):
        asked = group["queries"] * group["n_cfs"]
        record: Record = axes | {
            "draws": len(group),
            "queries": int(group["queries"].sum()),
            "query_rows": int(group["query_rows"].iloc[0]),
            "rows": int(group["rows"].iloc[0]),
            "asked": int(asked.sum()),
            "found": mean(group["found"]),
            "marked": round(float((group["paired"] * asked).sum())),
            "violations": int(group["violations"].sum()),
        }
        means = [f"{name}_{when}" for name in (*_MEASURED, "changed") for when in _WHEN]
        record |= {name: mean(group[name]) for name in (*means, "validity_other", "l1_other", "share")}
        record |= {
            f"{name}_change": change(*(record[f"{name}_{when}"] for when in _WHEN)) for name in _MEASURED
        }
        records.append(record | _diluted(record) | _of_paper(record))
    return records


def changes(frame: pd.DataFrame) -> dict[tuple[str, ...], Record]:
    """Return the relative changes of validity and L1 by cell, and how many answers were marked, of all."""
    kept = [*(f"{name}_change" for name in _MEASURED), "marked", "asked"]
    return {tuple(r[name] for name in CELL): {name: r[name] for name in kept} for r in quality(frame)}


def quality_tables(frame: pd.DataFrame) -> list[Table]:
    """Return the table on marked rows, and the paper's way beside the paper's numbers."""
    records = quality(frame)
    marked = (
        *cell_columns(),
        Column(
            "queries", lambda r: f"{r['draws']} x {r['queries'] // r['draws']} of {r['query_rows']:,}", True
        ),
        Column("marked", lambda r: f"{r['marked']:,} of {r['asked']:,}", True),
        *_pair("validity", "validity", ".3f"),
        *_pair("L1", "l1", ".2f"),
        *_pair("features", "changed", ".1f")[:2],
        Column("broken rules", number("violations", "d"), True),
    )
    diluted = (*cell_columns(), *_beside("validity", "validity", ".3f"), *_beside("L1", "l1", ".2f"))
    return [
        Table("quality", "Counterfactuals before and after marking, on the marked rows", marked, records),
        Table(
            "quality", "Averaged over every row, the query split marked, beside the paper", diluted, records
        ),
    ]


def losses(frame: pd.DataFrame) -> list[Record]:
    """Return a record for each pair of loss forms: F1 of every test, and per cent lost and gained."""
    rows, changed = verdicts(frame), changes(frame)
    rows = rows[(rows["strength"] == 0) & (rows["labels"] == "soft") & (rows["family"] == "mlp")]
    records = []
    for axes, group in groups(rows, CELL):
        forms = variant_of(axes)
        if not {"poison_form", "validity_form"} <= set(forms):
            continue
        of_cell = changed.get(tuple(axes[name] for name in CELL), {})
        paper = reported("losses", axes["explainer"], axes["dataset"], forms["poison_form"])
        told = (paper or {}).get(forms["validity_form"], [None] * 3)
        records.append(
            axes
            | forms
            | {"f1": {named: _f1_of(test) for named, test in group.groupby("named", sort=False)}}
            | {"validity_lost": _per_cent(of_cell.get("validity_change"), -1)}
            | {"l1_gained": _per_cent(of_cell.get("l1_change"), 1)}
            | dict(zip(("paper_f1", "paper_validity_lost", "paper_l1_gained"), told, strict=True))
            | {name: of_cell.get(name) for name in ("marked", "asked")}
        )
    return records


def losses_tables(frame: pd.DataFrame) -> list[Table]:
    """Return the 3 x 3 forms, a line each."""
    records = losses(frame)
    tests = dict.fromkeys(name for record in records for name in record["f1"])
    columns = (
        *cell_columns()[:2],
        Column("poison", text("poison_form")),
        Column("validity", text("validity_form")),
        Column("marked", lambda r: "-" if r["asked"] is None else f"{r['marked']:,} of {r['asked']:,}", True),
        *(Column(f"F1 {name}", number(name, inside="f1"), True) for name in tests),
        Column("paper", number("paper_f1"), True),
        Column("validity lost %", number("validity_lost"), True),
        Column("paper", number("paper_validity_lost"), True),
        Column("L1 gained %", number("l1_gained"), True),
        Column("paper", number("paper_l1_gained"), True),
    )
    return [Table("losses", "Forms of the poison and the validity loss", columns, records)]


def _diluted(record: Record) -> Record:
    """Average over the query split and the other rows, each with its weight."""
    share = record["query_rows"] / record["rows"]
    found: Record = {}
    for name in _MEASURED:
        other = record[f"{name}_other"]
        for when in _WHEN:
            inside = record[f"{name}_{when}"]
            known = other is not None and inside is not None
            found[f"diluted_{name}_{when}"] = share * inside + (1 - share) * other if known else None
    return found


def _of_paper(record: Record) -> Record:
    told = reported("quality", record["explainer"], record["dataset"]) or {}
    return {
        f"paper_{name}_{when}": told.get(name, [None, None])[place]
        for name in _MEASURED
        for place, when in enumerate(_WHEN)
    }


def _pair(head: str, name: str, form: str) -> tuple[Column, ...]:
    return (
        Column(head, number(f"{name}_before", form), True),
        Column("after", number(f"{name}_after", form), True),
        Column("change", number(f"{name}_change", "+.1%"), True),
    )


def _beside(head: str, name: str, form: str) -> tuple[Column, ...]:
    return (
        Column(head, number(f"diluted_{name}_before", form), True),
        Column("paper", number(f"paper_{name}_before", ".2f"), True),
        Column("after", number(f"diluted_{name}_after", form), True),
        Column("paper", number(f"paper_{name}_after", ".2f"), True),
    )


def _f1_of(test: pd.DataFrame) -> float | None:
    guilty, flagged = test["guilty"], test["flagged"]
    asked = test["suspect"] == "query"
    return f1(int((guilty & flagged).sum()), int((guilty & ~flagged).sum()), int((asked & flagged).sum()))


def _per_cent(value: Any, sign: int) -> float | None:
    return None if value is None else 100 * sign * value + 0.0
