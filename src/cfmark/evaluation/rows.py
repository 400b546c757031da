"""Rows on disk: every unit of work is one Parquet file of one schema, so that files join to a table."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cfmark.errors import TableError
from cfmark.evaluation.settings import Unit

_AXES = ("record", "experiment", "dataset", "explainer", "scheme", "variant", "cell")
_VERDICT_NAMES = ("suspect", "labels", "family", "removal", "test", "pool", "score", "margin")
_VERDICT_NUMBERS = ("strength", "alpha", "statistic", "p_value", "effect", "tau", "agreement", "poison")
_QUALITY_COUNTS = ("queries", "query_rows", "rows", "found", "paired", "violations", "n_cfs")
_QUALITY_NUMBERS = (
    *("validity_before", "validity_after", "validity_other", "l1_before", "l1_after", "l1_other"),
    *("changed_before", "changed_after", "share"),
)
#: Every column of every record; a record leaves the others empty. ``found``, ``paired`` and ``violations``
#: are numbers that may be shares, so all counts of quality are floating.
SCHEMA = pa.schema(
    [(name, pa.string()) for name in (*_AXES, *_VERDICT_NAMES, "phase")]
    + [(name, pa.bool_()) for name in ("guilty", "flagged")]
    + [(name, pa.int64()) for name in ("draw", "seed", "n", "batch", "step", "models")]
    + [(name, pa.float64()) for name in (*_VERDICT_NUMBERS, *_QUALITY_COUNTS, *_QUALITY_NUMBERS)]
    + [(name, pa.float64()) for name in ("validity", "regularisation", "seconds", "peak_mb")]
)
_STAMP = b"cfmark"


def path_of(folder: Path, unit: Unit) -> Path:
    """Return the file of a unit's rows."""
    return folder / f"{unit.id.replace('/', '__')}.parquet"


def stamp_of(unit: Unit) -> dict[str, Any]:
    """Return what a unit's file says of itself: its id, and the settings that it was made with."""
    settings = json.loads(json.dumps(asdict(unit.settings)))
    return {"unit": unit.id, "experiment": unit.experiment, "settings": settings}


def write_rows(folder: Path, unit: Unit, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write a unit's rows; a file is there whole, or not at all."""
    for row in rows:
        unknown = [name for name in row if name not in SCHEMA.names]
        if unknown:
            raise ValueError(
                f"{unit.id}: a row has the column {unknown[0]!r}, which evaluation/rows.py lacks"
            )
    stamp = {_STAMP: json.dumps(stamp_of(unit))}
    table = pa.Table.from_pylist(list(map(dict, rows)), SCHEMA.with_metadata(stamp))
    path = path_of(folder, unit)
    part = path.with_suffix(".part")
    pq.write_table(table, part)
    part.replace(path)
    return path


def read_stamp(path: Path) -> dict[str, Any]:
    """Return what a file says of itself."""
    try:
        metadata = pq.read_schema(path).metadata or {}
        stamp: dict[str, Any] = json.loads(metadata[_STAMP])
    except (pa.ArrowException, KeyError, ValueError) as problem:
        raise TableError(
            "no rows of an experiment; delete it to make them again", source=str(path)
        ) from problem
    return stamp


def read_rows(folder: Path) -> pd.DataFrame:
    """Return the rows of every unit in a folder, those of one unit together, units by name."""
    paths = sorted(folder.glob("*.parquet"))
    if not paths:
        raise TableError("there are no rows here yet; 'cfmark bench run' makes them", source=str(folder))
    try:
        tables = [pq.read_table(path, schema=SCHEMA).replace_schema_metadata() for path in paths]
    except pa.ArrowException as problem:
        raise TableError(f"rows that cannot be read: {problem}", source=str(folder)) from problem
    frame: pd.DataFrame = pa.concat_tables(tables).to_pandas()
    return frame
