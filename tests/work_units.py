"""Functions that stand in for ``run_unit``; worker processes find them by name."""

import os
import time
import uuid
from pathlib import Path
from typing import Any

from cfmark.errors import DatasetError
from cfmark.evaluation.settings import Unit


def fake_unit(unit: Unit) -> list[dict[str, Any]]:
    """Return two rows that depend on the unit alone.

    The environment may ask for a log (a file for each attempt, with who started the worker) and for
    seconds of work.
    """
    if "WORK_LOG" in os.environ:
        attempt = f"{unit.id.replace('/', '__')}@{os.getppid()}@{uuid.uuid4().hex}"
        (Path(os.environ["WORK_LOG"]) / attempt).touch()
    time.sleep(float(os.environ.get("WORK_SECONDS", "0")))
    return [
        {
            "record": "verdict",
            "experiment": unit.experiment,
            "dataset": unit.dataset,
            "draw": unit.draw,
            "cell": unit.cell,
            "seed": seed,
            "flagged": bool(unit.seed("flagged", seed) % 2),
            "statistic": unit.seed("statistic", seed) / 2**32,
        }
        for seed in range(2)
    ]


def refused_unit(unit: Unit) -> list[dict[str, Any]]:
    """Refuse the second draw, as a unit does whose data are not what they should be."""
    if unit.draw == 1:
        raise DatasetError("not the right bytes")
    return fake_unit(unit)


def broken_unit(unit: Unit) -> list[dict[str, Any]]:
    """Fail at the second draw, through a mistake of ours."""
    if unit.draw == 1:
        raise ZeroDivisionError("a mistake")
    return fake_unit(unit)
