"""Run an experiment: every unit once, each on disk as soon as it is done, so that a run can be stopped.

A folder has ``experiment.json`` (what was asked for, what was left out and why, and the provenance of every
run that worked on it) and ``units/``, one Parquet file for each unit.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from cfmark import distributed
from cfmark.data import is_present, is_table
from cfmark.distributed import Workers
from cfmark.errors import CfmarkError, ConfigError
from cfmark.evaluation import rows
from cfmark.evaluation.grid import AXES, Experiment, reason_to_skip, select, units
from cfmark.evaluation.machine import provenance
from cfmark.evaluation.settings import Settings, Unit

Rows = list[dict[str, Any]]
RunUnit = Callable[[Unit], Rows]
DOCUMENT = "experiment.json"


class Plan(NamedTuple):
    """What a run has to do.

    Attributes
    ----------
    todo, done
        Units to work on, and those that are on disk already.
    skipped
        Reasons, by the ids of the units that are left out.
    """

    todo: list[Unit]
    done: list[Unit]
    skipped: dict[str, str]


class Outcome(NamedTuple):
    """What came of a run: how many units were made, and why which are not there."""

    made: int
    skipped: dict[str, str]
    failed: dict[str, str]


class Attempt(NamedTuple):
    """A unit's rows, or why it has none."""

    rows: Rows
    problem: str | None


def plan(experiment: Experiment, folder: Path, only: str = "", resume: bool = False) -> Plan:
    """Decide what is to be done in a folder; refuse one that holds something else."""
    there = sorted((folder / "units").glob("*.parquet"))
    if not resume and folder.is_dir() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is not empty: add --resume to go on there, or name another --out")
    for path in there:
        _same(path, experiment)
    chosen = select(units(experiment), only)
    skipped: dict[str, str] = {}
    for unit in chosen:
        reason = reason_to_skip(experiment, unit) or _absent(unit.dataset)
        if reason:
            skipped[unit.id] = reason
    wanted = [unit for unit in chosen if unit.id not in skipped]
    finished = {unit.id for unit in wanted if rows.path_of(folder / "units", unit) in there}
    return Plan(
        todo=[unit for unit in wanted if unit.id not in finished],
        done=[unit for unit in wanted if unit.id in finished],
        skipped=skipped,
    )


def run_experiment(
    experiment: Experiment,
    folder: Path,
    planned: Plan,
    run_unit: RunUnit,
    *,
    workers: Workers | None = None,
    command: str = "",
    progress: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Work on the units of a plan, and keep every one that is done.

    A unit that cfmark refuses is left out with its message and the others go on; any other exception stops
    the run and says which unit it was.
    """
    (folder / "units").mkdir(parents=True, exist_ok=True)
    failed: dict[str, str] = {}
    _record(folder, experiment, planned, failed, provenance(command, **_seeds()))
    attempts = distributed.run(partial(_attempt, run_unit), planned.todo, workers, lambda unit: unit.id)
    for index, attempt in attempts:
        unit = planned.todo[index]
        if attempt.problem is None:
            rows.write_rows(folder / "units", unit, attempt.rows)
        else:
            failed[unit.id] = attempt.problem
            _record(folder, experiment, planned, failed)
        progress(1)
    return Outcome(len(planned.todo) - len(failed), planned.skipped, failed)


def read_document(folder: Path) -> dict[str, Any]:
    """Return what ``experiment.json`` says; a folder of another origin has none."""
    path = folder / DOCUMENT
    if not path.is_file():
        raise ConfigError(f"{folder}: no experiment was run here: there is no {DOCUMENT}")
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def missing(folder: Path) -> int:
    """Return how many units of a run's experiment are neither there nor left out with a reason."""
    document = read_document(folder)
    asked = document["experiment"]
    cells = [len(asked[axis]) for axis in (*AXES, "variants")]
    there = len(list((folder / "units").glob("*.parquet")))
    return prod(cells) * int(asked["draws"]) - there - len(document["skipped"]) - len(document["failed"])


def rows_of(folder: Path) -> pd.DataFrame:
    """Return all rows of a run, whole or not."""
    read_document(folder)
    return rows.read_rows(folder / "units")


def _attempt(run_unit: RunUnit, unit: Unit) -> Attempt:
    try:
        return Attempt(run_unit(unit), None)
    except CfmarkError as problem:
        return Attempt([], str(problem))
    except Exception as problem:
        problem.add_note(f"in the unit {unit.id}")
        raise


def _absent(dataset: str) -> str | None:
    if is_present(dataset):
        return None
    if is_table(dataset):
        return f"there is no file {dataset}"
    return f"the files of {dataset} are not here: run 'cfmark datasets get {dataset}', or set CFMARK_DATA"


def _same(path: Path, experiment: Experiment) -> None:
    """Refuse a folder whose units were made with other settings, or are of another experiment."""
    stamp = rows.read_stamp(path)
    if stamp["experiment"] != experiment.name:
        raise ConfigError(f"{path} is of the experiment {stamp['experiment']!r}, not {experiment.name!r}")
    ours, plain = (json.loads(json.dumps(asdict(each))) for each in (experiment.settings, Settings()))
    theirs = plain | stamp["settings"]
    for name, value in ours.items():
        if theirs[name] != value:
            raise ConfigError(
                f"{path} was made with {name} = {theirs[name]}, this run has {value}: name another --out"
            )


def _seeds() -> dict[str, str]:
    return {"unit": "sha256 of: unit, DATASET, EXPLAINER, DRAW, and what the seed is for"}


def _record(
    folder: Path,
    experiment: Experiment,
    planned: Plan,
    failed: dict[str, str],
    started: dict[str, Any] | None = None,
) -> None:
    """Write the document anew, whole or not at all; what it says of units of other runs is kept."""
    path = folder / DOCUMENT
    earlier = read_document(folder) if path.is_file() else {"runs": [], "skipped": {}, "failed": {}}
    ours = {unit.id for unit in (*planned.todo, *planned.done)} | planned.skipped.keys()
    kept = {
        what: {unit: reason for unit, reason in earlier[what].items() if unit not in ours}
        for what in ("skipped", "failed")
    }
    document = {
        "experiment": asdict(experiment),
        "runs": earlier["runs"] + ([started] if started else []),
        "skipped": kept["skipped"] | planned.skipped,
        "failed": kept["failed"] | failed,
    }
    part = path.with_suffix(".part")
    part.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    part.replace(path)
