"""Shadows from the owner's pairs: what thieves and innocents would have learnt from, and the calibration.

Nobody tells the owner whether a suspect learnt probabilities or classes alone, so there are shadows of both.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from cfmark.attacks import LocalOracle, Sources, mrce, with_labels
from cfmark.calibration import Calibration, CalibrationConfig, Learnt, calibrate, innocents
from cfmark.cli import screen
from cfmark.data import Dataset
from cfmark.seeds import derive_seed
from cfmark.types import BoolArray, Classifier, Explanations, FloatArray, MarkedExplanations, Transcript
from cfmark.verification import Verdict
from cfmark.watermark import BilevelConfig, embed


class Case(NamedTuple):
    """What is needed to calibrate.

    Attributes
    ----------
    dataset, owner
        The owner's data and model.
    issued, asked
        All pairs as they were issued, which shadows learn from; and those that suspects are asked about.
    scheme
        How the marks were made; None if nobody knows.
    """

    dataset: Dataset
    owner: Classifier
    issued: MarkedExplanations
    asked: MarkedExplanations
    scheme: BilevelConfig | None


class Kinds(NamedTuple):
    """By kind: what shadow thieves and shadow innocents learn from."""

    guilty: dict[str, Learnt]
    innocent: dict[str, Learnt]


def kinds_of(
    key: jax.Array,
    pairs: MarkedExplanations,
    classifier: Classifier,
    dataset: Dataset,
    pool: str,
    config: BilevelConfig | None = None,
) -> Kinds:
    """Return the kinds that the owner can make from the pairs alone.

    Parameters
    ----------
    key
        Decides the marks of another owner, and the rows that innocents label themselves.
    pairs
        What was issued, and its counterparts.
    classifier, dataset
        The owner's model, which labels what shadows learn from, and its data.
    pool
        Which innocents: see ``cfmark.calibration.innocents``.
    config
        The scheme of the marks; another owner's are made with it, from a uniform start.
    """
    key_foreign, key_rows = jax.random.split(key)
    ours = _oracle(classifier, pairs.x, pairs.issued, pairs.found)
    unmarked = _oracle(classifier, pairs.x, pairs.counterpart, pairs.found)
    foreign = unmarked
    if pool == "all":
        given = Explanations(pairs.x, pairs.counterpart, pairs.found, pairs.target)
        another = replace(config or BilevelConfig(), start="uniform")
        marked, _ = embed(key_foreign, given, classifier, dataset, another)
        foreign = _oracle(classifier, pairs.x, marked.issued, pairs.found)
    learnt = innocents(key_rows, pool, Sources(ours, unmarked, foreign), pairs.x, dataset)
    return Kinds(_both({"mrce": mrce(ours, pairs.x)}), _both(learnt))


def calibrated(case: Case, pool: str, config: CalibrationConfig, *axes: str | int) -> Calibration:
    """Train the shadows of a case, with progress, and return the calibration; ``axes`` name the seed."""
    key_kinds, key_shadows = jax.random.split(jax.random.key(derive_seed(*axes, "shadows")))
    kinds = kinds_of(key_kinds, case.issued, case.owner, case.dataset, pool, case.scheme)
    with screen.progress("shadow models", shadows_in(kinds, config)) as tell:
        return calibrate(key_shadows, kinds.guilty, kinds.innocent, case.asked, config, tell)


def nulls_of(calibration: Calibration | None, verdict: Verdict) -> NDArray[np.float64] | None:
    """Return the scores of the innocent shadows that a verdict ranked its suspect among, or None."""
    if calibration is None or verdict.test != "calibrated":
        return None
    nulls = calibration.nulls[verdict.details["score"]]
    return np.concatenate([nulls[kind] for kind in verdict.details["kinds"]])


def shadows_in(kinds: Kinds, config: CalibrationConfig) -> int:
    """Return how many models a calibration trains."""
    guilty = len(kinds.guilty) * (config.fit + config.power)
    return guilty + len(kinds.innocent) * len(config.families) * (config.fit + config.rank)


def _oracle(classifier: Classifier, x: FloatArray, cf: FloatArray, found: BoolArray) -> LocalOracle:
    """Return a service that has answered the queries (n, d) once, and gives the same answers again."""

    def issue(asked: FloatArray) -> tuple[FloatArray, BoolArray]:
        if asked is not x:
            raise LookupError("only the very queries of the pairs have answers")
        return cf, found

    return LocalOracle(classifier, issue)


def _both(kinds: Mapping[str, Learnt]) -> dict[str, Learnt]:
    """Add to each kind that learnt probabilities one that learnt classes alone."""
    both: dict[str, Learnt] = {}
    for kind, learnt in kinds.items():
        both[kind] = learnt
        if isinstance(learnt, Transcript) and learnt.requests:
            both[f"{kind} (hard labels)"] = with_labels(learnt, "hard")
    return both
