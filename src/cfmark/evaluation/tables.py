"""The tables of an experiment, from its rows alone: for people, and as records for programs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from cfmark.errors import ConfigError
from cfmark.evaluation.tables_base import Record, Table
from cfmark.evaluation.tables_detection import detection, detection_tables
from cfmark.evaluation.tables_quality import losses, losses_tables, quality, quality_tables
from cfmark.evaluation.tables_suspects import (
    poison,
    poison_tables,
    removal,
    removal_tables,
    timing,
    timing_tables,
)


class Maker(NamedTuple):
    """What makes the records of a kind of table, and what makes the tables themselves."""

    records: Callable[[pd.DataFrame], list[Record]]
    tables: Callable[[pd.DataFrame], list[Table]]


KINDS = {
    "detection": Maker(detection, detection_tables),
    "quality": Maker(quality, quality_tables),
    "losses": Maker(losses, losses_tables),
    "removal": Maker(removal, removal_tables),
    "poison": Maker(poison, poison_tables),
    "timing": Maker(timing, timing_tables),
}


def records_of(frame: pd.DataFrame, kind: str = "detection") -> list[Record]:
    """Return the records of one kind of table."""
    return _maker(kind).records(frame)


def tables_of(frame: pd.DataFrame, kinds: Sequence[str]) -> list[Table]:
    """Return the tables of those kinds that have a line."""
    return [table for kind in kinds for table in _maker(kind).tables(frame) if table.records]


def _maker(kind: str) -> Maker:
    if kind not in KINDS:
        raise ConfigError(f"there is no table {kind!r}; the tables are {', '.join(KINDS)}")
    return KINDS[kind]
