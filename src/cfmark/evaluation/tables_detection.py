"""Who was flagged: one line for each cell and test, and the same over all cells."""

from typing import Any

import pandas as pd

from cfmark.attacks import FAMILIES
from cfmark.evaluation.paper import reported
from cfmark.evaluation.tables_base import (
    CELL,
    TEST,
    Column,
    Record,
    Table,
    cell_columns,
    f1,
    groups,
    mean,
    number,
    text,
    verdicts,
)
from cfmark.evaluation.tables_quality import changes

THIEVES = ("mrce", "dual_cf")
#: What suspects learn unless a line says otherwise: the service's probabilities, or the truth.
USUAL_LABELS = ("soft", "true")
LEARNT = ("labels", "family")
#: What marks changed, where no row says it.
UNKNOWN: Record = {"validity_change": None, "l1_change": None, "marked": None, "asked": None}
TEST_COLUMN = Column("test", text("named"))


def detection(frame: pd.DataFrame) -> list[Record]:
    """Return a record for each cell, test, and kind of labels and model that thieves learn.

    True and false positives count MRCE and DualCF against Query, as the paper does; ``flagged`` has every
    kind of suspect, other innocents among them. Changes are fractions of the value before, on marked rows.
    """
    rows = verdicts(frame)
    rows = rows[rows["strength"] == 0]
    changed = changes(frame)
    records = []
    for axes, group in groups(rows, (*CELL, *TEST, "named")):
        shared = axes | changed.get(tuple(axes[name] for name in CELL), UNKNOWN)
        for learnt, _ in groups(group[group["guilty"]], LEARNT):
            records.append(shared | learnt | _counts(group, learnt))
    for record in records:
        plain = (record["variant"], record["labels"], record["family"]) == ("", "soft", "mlp")
        paper = reported("f1", record["explainer"], record["dataset"])
        record["paper_f1"] = paper if plain and record["scheme"] == "bilevel" else None
    return records


def detection_tables(frame: pd.DataFrame) -> list[Table]:
    """Return the table of cells, that over all cells, and that of the innocents."""
    records = detection(frame)
    counts = tuple(Column(name.upper(), number(name, "d"), True) for name in ("tp", "fn", "fp", "tn"))
    learnt = tuple(Column(name, text(name), stays=False) for name in LEARNT)
    shared = (*cell_columns(), *learnt, TEST_COLUMN)
    cells = (
        *shared,
        *counts,
        Column("F1", number("f1"), True),
        Column("paper", number("paper_f1"), True),
        Column("validity", number("validity_change", "+.1%"), True),
        Column("L1", number("l1_change", "+.1%"), True),
    )
    total = (
        *(*shared[2:4], *learnt, TEST_COLUMN),
        Column("cells", number("cells", "d"), True),
        *counts,
        Column("mean F1", number("mean_f1", ".3f"), True),
        Column("lowest F1", number("lowest_f1"), True),
        Column("paper", number("paper_f1"), True),
    )
    return [
        Table("detection", "Thieves found, and askers accused", cells, records),
        Table("detection", "The same over all cells", total, totals(records)),
        *_innocents(records, shared),
    ]


def totals(records: list[Record]) -> list[Record]:
    """Return the sums over all cells: counts, and the mean and the lowest F1."""
    if not records:
        return []
    shared = ("scheme", "variant", *LEARNT, *TEST, "named")
    found = []
    for axes, group in groups(pd.DataFrame(records), shared):
        f1s = group["f1"].astype(float)
        found.append(
            axes
            | {name: int(group[name].sum()) for name in ("tp", "fn", "fp", "tn")}
            | {"cells": len(group), "mean_f1": mean(f1s), "lowest_f1": mean(f1s.nsmallest(1))}
            | {"paper_f1": mean(group["paper_f1"].astype(float))}
        )
    return found


def kind_name(suspect: str, labels: str, family: str) -> str:
    """Name a kind of suspect: what it does, then its model and labels where they are not the usual ones.

    >>> kind_name("unmarked", "soft", "mlp"), kind_name("mrce", "hard", "forest")
    ('unmarked', 'mrce/forest/hard')
    """
    usual = "mlp", *USUAL_LABELS
    return "/".join([suspect, *(name for name in (family, labels) if name not in usual)])


def _counts(group: pd.DataFrame, learnt: Record) -> Record:
    """Count the flagged among thieves and askers of these labels and models, and among all innocents."""
    same = (group["labels"] == learnt["labels"]) & (group["family"] == learnt["family"])
    thieves = group[same & group["suspect"].isin(THIEVES)]["flagged"]
    askers = group[same & (group["suspect"] == "query")]["flagged"]
    tp, fp = int(thieves.sum()), int(askers.sum())
    fn, tn = len(thieves) - tp, len(askers) - fp
    flagged: dict[str, list[int]] = {}
    for kind, rows in groups(group[same | ~group["guilty"]], ("suspect", *LEARNT)):
        flagged[kind_name(**kind)] = [int(rows["flagged"].sum()), len(rows)]
    return {"tp": tp, "fn": fn, "fp": fp, "tn": tn, "f1": f1(tp, fn, fp), "flagged": flagged}


def _innocents(records: list[Record], shared: tuple[Column, ...]) -> list[Table]:
    """Return the table of how many innocents of each kind were flagged, if there were any beside Query."""
    innocents = [name.split("/") for record in records for name in record["flagged"] if not _is_thief(name)]
    kinds = dict.fromkeys(parts[0] for parts in innocents)
    if not set(kinds) - {"query"}:
        return []
    families = dict.fromkeys(parts[1] if parts[1:] and parts[1] in FAMILIES else "mlp" for parts in innocents)
    columns = tuple(Column(kind, _shares(kind), True) for kind in kinds)
    order = ", ".join(families)
    title = f"Innocents flagged, of how many, as {order}" if len(families) > 1 else "Innocents flagged"
    return [Table("detection", title, (*shared, *columns), records)]


def _shares(kind: str) -> Any:
    def show(record: Record) -> str:
        found = {name: v for name, v in record["flagged"].items() if name.split("/")[0] == kind}
        whole = {of for _, of in found.values()}
        if len(whole) == 1:
            return " ".join(str(flagged) for flagged, _ in found.values()) + f" / {whole.pop()}"
        return " ".join(f"{flagged}/{of}" for flagged, of in found.values()) or "-"

    return show


def _is_thief(name: str) -> bool:
    return name.split("/")[0] in THIEVES
