"""Suspects one kind at a time: after a removal, by the poison loss, and what the work took."""

from collections.abc import Callable

import pandas as pd

from cfmark.evaluation.paper import reported
from cfmark.evaluation.tables_base import (
    CELL,
    Column,
    Record,
    Table,
    cell_columns,
    groups,
    mean,
    number,
    of_record,
    text,
    variant_of,
    verdicts,
)

#: Work that is paid once for a row draw, whatever the number of suspects.
ONCE = ("prepare", "explain", "mark", "calibrate", "calibrate_all")


def removal(frame: pd.DataFrame) -> list[Record]:
    """Return a record for each cell, thief, removal and strength (0 is the thief as it was).

    It has the share that each test flags, and the agreement with the owner's model.
    """
    rows = verdicts(frame)
    rows = rows[rows["guilty"]]
    by = (*CELL, "suspect", "labels", "family", "removal", "strength")
    found = [axes | _flagged(group) | _of_models(group) for axes, group in groups(rows, by)]
    return sorted(
        found, key=lambda r: [*(r[name] for name in (*CELL, "suspect", "labels", "family")), r["strength"]]
    )


def removal_tables(frame: pd.DataFrame) -> list[Table]:
    """Return the true-positive rates and the agreement, by strength."""
    records = removal(frame)
    columns = (
        *cell_columns(),
        Column("thief", text("suspect")),
        *(Column(name, text(name), stays=False) for name in ("labels", "family", "removal")),
        Column("strength", number("strength", "g"), True),
        *(Column(f"flagged by {name}", number(name, ".0%", "rate"), True) for name in _tests(records)),
        Column("agreement", number("agreement", ".1%"), True),
    )
    return [Table("removal", "Thieves found after they tried to lose the mark", columns, records)]


def poison(frame: pd.DataFrame) -> list[Record]:
    """Return a record for each cell and kind of suspect: how many each test flags, and the poison loss.

    The loss is the mean over pairs of log f(issued) - log f(counterpart), at the suspect itself.
    """
    rows = verdicts(frame)
    by = (*CELL, "suspect", "labels", "family")
    records = []
    for axes, group in groups(rows[rows["strength"] == 0], by):
        weight = variant_of(axes).get("regularisation", "")
        told = reported("lambda3", axes["explainer"], axes["dataset"], weight, axes["suspect"])
        records.append(axes | _flagged(group) | _of_models(group) | {"paper_flagged": told})
    return records


def poison_tables(frame: pd.DataFrame) -> list[Table]:
    """Return flagged suspects and poison losses, by variant."""
    records = poison(frame)
    columns = (
        *cell_columns(),
        Column("suspect", text("suspect")),
        *(Column(name, text(name), stays=False) for name in ("labels", "family")),
        *(Column(f"flagged by {name}", _of(name), True) for name in _tests(records)),
        Column("paper", number("paper_flagged", "d"), True),
        Column("poison loss", number("poison", ".3f"), True),
        Column("deviation", number("poison_deviation", ".3f"), True),
    )
    return [Table("poison", "Flagged suspects and the poison loss", columns, records)]


def timing(frame: pd.DataFrame) -> list[Record]:
    """Return a record for each cell: seconds by phase, and suspects a second without what is paid once."""
    records = []
    for axes, group in groups(of_record(frame, "timing"), CELL):
        seconds = {
            str(phase): float(rows["seconds"].sum()) for phase, rows in group.groupby("phase", sort=False)
        }
        suspects = int(group[group["phase"] == "suspects"]["models"].sum())
        about = {"units": int(group["draw"].nunique()), "peak_mb": mean(group["peak_mb"].nlargest(1))}
        records.append(axes | about | _speed(seconds, suspects))
    return records


def timing_tables(frame: pd.DataFrame) -> list[Table]:
    """Return seconds by phase, and their sum over all cells."""
    records = timing(frame)
    phases = dict.fromkeys(phase for record in records for phase in record["phases"])
    sums = {phase: sum(record["phases"].get(phase, 0.0) for record in records) for phase in phases}
    shared = {name: _common([record[name] for record in records]) for name in CELL}
    whole: Record = shared | {"dataset": "all", "units": sum(record["units"] for record in records)}
    peaks = [record["peak_mb"] for record in records if record["peak_mb"] is not None]
    whole |= {"peak_mb": max(peaks, default=None)} | _speed(
        sums, sum(record["suspects"] for record in records)
    )
    columns = (
        *cell_columns(),
        Column("draws", number("units", "d"), True),
        *(Column(phase.replace("_", " "), number(phase, ".1f", "phases"), True) for phase in phases),
        Column("all", number("seconds", ".1f"), True),
        Column("suspects", number("suspects", "d"), True),
        Column("a second", number("suspects_per_second", ".1f"), True),
        Column("peak MB", number("peak_mb", ",.0f"), True),
    )
    return [
        Table(
            "timing",
            "Seconds by phase, and the memory of the process that held most",
            columns,
            [*records, whole],
        )
    ]


def _common(values: list[str]) -> str:
    return values[0] if len(set(values)) == 1 else ""


def _speed(phases: dict[str, float], suspects: int) -> Record:
    """Sum seconds up: suspects a second count what is done for the suspects alone."""
    of_suspects = sum(seconds for phase, seconds in phases.items() if phase not in ONCE)
    speed = suspects / of_suspects if suspects and of_suspects else None
    return {
        "phases": phases,
        "seconds": sum(phases.values()),
        "suspects": suspects,
        "suspects_per_second": speed,
    }


def _flagged(group: pd.DataFrame) -> Record:
    """Count the flagged, of how many, by test."""
    tests = {str(named): rows["flagged"] for named, rows in group.groupby("named", sort=False)}
    return {
        "flagged": {named: [int(flagged.sum()), len(flagged)] for named, flagged in tests.items()},
        "rate": {named: float(flagged.mean()) for named, flagged in tests.items()},
    }


def _of_models(group: pd.DataFrame) -> Record:
    """Average over models what does not depend on the test."""
    models = group.drop_duplicates(["draw", "seed"])
    deviation = float(models["poison"].std()) if len(models) > 1 else None
    return {
        "agreement": mean(models["agreement"]),
        "poison": mean(models["poison"]),
        "poison_deviation": deviation,
    }


def _tests(records: list[Record]) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in record["flagged"]))


def _of(name: str) -> Callable[[Record], str]:
    def show(record: Record) -> str:
        flagged = record["flagged"].get(name)
        return "-" if flagged is None else f"{flagged[0]}/{flagged[1]}"

    return show
