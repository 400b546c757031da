"""The suspects of a unit: what each learns from, the models they train, and what those answer."""

from collections.abc import Iterator
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from cfmark.attacks import ATTACKS, NETWORKS, Sources, extract_many, gather, with_labels
from cfmark.calibration import Answers
from cfmark.data import Dataset
from cfmark.evaluation.settings import Unit
from cfmark.types import Classifier, FloatArray, IntArray, MarkedExplanations, Transcript, predict
from cfmark.verification import paired_points

#: Suspects of the attacks that learn from issued counterfactuals.
GUILTY = ("mrce", "dual_cf")
#: Networks that are trained at once.
GROUP = 50
#: At most so many holdout rows tell how far suspect and owner agree.
HOLDOUT = 2_000


class Kind(NamedTuple):
    """A kind of suspect: who it is, what it learns from, and which models it trains."""

    suspect: str
    labels: str
    family: str
    transcript: Transcript

    @property
    def guilty(self) -> bool:
        """Whether it learnt from what the owner issued."""
        return self.suspect in GUILTY


class Suspect(NamedTuple):
    """One trained model of a kind, by its number."""

    kind: Kind
    number: int
    model: Classifier


def kinds_of(unit: Unit, sources: Sources, x: FloatArray, y: IntArray) -> list[Kind]:
    """Return the suspects' kinds in a unit, for the drawn rows (n, d) with true classes (n,)."""
    settings = unit.settings
    kinds = []
    for attack in settings.attacks:
        gathered = ATTACKS[attack](sources.ours, x)
        for labels in settings.labels:
            learnt = with_labels(gathered, labels)
            kinds += [Kind(attack, labels, family, learnt) for family in settings.families]
    for innocent in settings.innocents:
        learnt = gather(innocent, sources, x, y)
        labels = "true" if innocent == "true_labels" else "soft"
        kinds += [Kind(innocent, labels, family, learnt) for family in settings.innocent_families]
    if settings.innocents and "query" in settings.attacks:
        queries = gather("queries", sources, x, y)
        others = [family for family in settings.innocent_families if family not in settings.families]
        kinds += [Kind("query", "soft", family, queries) for family in others]
    return kinds


def train(unit: Unit, kinds: list[Kind]) -> Iterator[Suspect]:
    """Train every kind's suspects; networks of a family in groups of one size, whatever they learn from."""
    for family in dict.fromkeys(kind.family for kind in kinds):
        places = [
            (kind, number) for kind in kinds if kind.family == family for number in range(unit.settings.seeds)
        ]
        for start in range(0, len(places), GROUP):
            group = places[start : start + GROUP]
            for (kind, number), model in zip(group, _train_group(unit, group, family), strict=True):
                yield Suspect(kind, number, model)


def _train_group(unit: Unit, group: list[tuple[Kind, int]], family: str) -> list[Classifier]:
    size = GROUP if family in NETWORKS else len(group)
    padded = [group[i % len(group)] for i in range(size)]
    seeds = [unit.seed("suspect", kind.suspect, kind.labels, family, number) for kind, number in padded]
    keys = jax.vmap(jax.random.key)(np.array(seeds, np.uint32))
    return extract_many(keys, [kind.transcript for kind, _ in padded], family)[: len(group)]


def answers_of(model: Classifier, pairs: MarkedExplanations) -> Answers:
    """Return a suspect's (1, n, 2) probabilities of the target class at issued points and counterparts."""
    issued, counterpart, target = paired_points(pairs)
    p = np.asarray(model.predict_proba(np.concatenate([issued, counterpart])), np.float64)
    of_target: NDArray[np.float64] = p[np.arange(len(p)), np.tile(target, 2)]
    return of_target.reshape(2, -1).T[None]


def held_out(unit: Unit, dataset: Dataset) -> FloatArray:
    """Return the rows on which agreement is measured: holdout rows, which nobody queried."""
    random = np.random.default_rng(unit.seed("holdout"))
    rows = dataset.holdout.x
    return rows if len(rows) <= HOLDOUT else rows[random.choice(len(rows), HOLDOUT, replace=False)]


def agreement(model: Classifier, owner: IntArray, rows: FloatArray) -> float:
    """Return the share of rows to which the suspect gives the owner's class."""
    return float((predict(model, rows) == owner).mean())
