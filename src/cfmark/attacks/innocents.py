"""Suspects that must not be accused, although they look like thieves.

``queries``: asked for predictions only. ``true_labels``: own rows with their true labels, without our model.
``unmarked``: queries and unmarked counterfactuals of the same generator. ``foreign``: queries and
counterfactuals that carry a mark made with another key.
"""

from typing import NamedTuple

import numpy as np

from cfmark.attacks.extraction import QUERY, mrce, query
from cfmark.errors import ConfigError
from cfmark.types import FloatArray, IntArray, Oracle, Transcript

KINDS = ("queries", "true_labels", "unmarked", "foreign")


class Sources(NamedTuple):
    """What innocents learn from: the service as it is, without marks, and with another owner's marks."""

    ours: Oracle
    unmarked: Oracle
    foreign: Oracle


def gather(kind: str, sources: Sources, x: FloatArray, y: IntArray) -> Transcript:
    """Return the transcript of an innocent of that kind, for rows (n, d) with true classes (n,)."""
    if kind not in KINDS:
        raise ConfigError(f"there is no innocent {kind!r}; the kinds are {', '.join(KINDS)}")
    if kind == "queries":
        return query(sources.ours, x)
    if kind == "true_labels":
        return true_labels(x, y)
    return mrce(sources.unmarked if kind == "unmarked" else sources.foreign, x)


def true_labels(x: FloatArray, y: IntArray) -> Transcript:
    """Return labelled rows that nobody asked the service about."""
    rows = len(x)
    return Transcript(x, np.eye(2, dtype=np.float32)[y], np.full(rows, QUERY), np.arange(rows), 0)
