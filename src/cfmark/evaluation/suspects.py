"""The suspects of a unit: what each learns from, the models they train, and what those answer."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from cfmark.attacks import Sources, attacked, extract_many, gather
from cfmark.calibration import Answers
from cfmark.data import Dataset
from cfmark.evaluation.settings import Unit
from cfmark.types import Classifier, FloatArray, IntArray, MarkedExplanations, Transcript
from cfmark.verification import paired_points

#: Suspects of the attacks that learn from issued counterfactuals.
GUILTY = ("mrce", "dual_cf")
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
    """One model of a kind, by its number; and how strongly it was treated to lose the mark (0: not)."""

    kind: Kind
    number: int
    model: Classifier
    strength: float = 0.0


def kinds_of(unit: Unit, sources: Sources, x: FloatArray, y: IntArray) -> list[Kind]:
    """Return the suspects' kinds in a unit, for the drawn rows (n, d) with true classes (n,)."""
    settings = unit.settings
    kinds = []
    for attack in settings.attacks:
        for labels in settings.labels:
            learnt = attacked(attack, sources.ours, x, labels)
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


def train(unit: Unit, kinds: Sequence[Kind], strength: float = 0.0) -> list[Suspect]:
    """Train every kind's suspects, all of one family together."""
    suspects = []
    for family in dict.fromkeys(kind.family for kind in kinds):
        each = [(kind, n) for kind in kinds if kind.family == family for n in range(unit.settings.seeds)]
        models = extract_many(keys_of(unit, each), [kind.transcript for kind, _ in each], family)
        suspects += [Suspect(*place, model, strength) for place, model in zip(each, models, strict=True)]
    return suspects


def keys_of(unit: Unit, each: Sequence[tuple[Kind, int]]) -> jax.Array:
    """Return one key for each suspect; what is done to lose a mark starts from the very same training."""
    seeds = [unit.seed("suspect", kind.suspect, kind.labels, kind.family, number) for kind, number in each]
    keys: jax.Array = jax.vmap(jax.random.key)(np.array(seeds, np.uint32))
    return keys


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
