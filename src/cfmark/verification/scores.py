"""What a suspect answers at issued counterfactuals and at their counterparts."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cfmark.errors import CfmarkError, ConfigError, ModelError
from cfmark.types import Classifier, FloatArray, IntArray, MarkedExplanations
from cfmark.verification.checks import count

#: By how much two answered probabilities may miss the sum of one.
SUM_TOLERANCE = 1e-3


class Scores(NamedTuple):
    """A suspect's probabilities of each pair's target class, over n pairs.

    Attributes
    ----------
    issued
        (n,) at the counterfactuals that were issued.
    counterpart
        (n,) at the unmarked counterfactuals, or the twins that nobody got.
    target
        (n,) the class asked about: fixed beforehand, never chosen by the suspect.
    """

    issued: NDArray[np.float64]
    counterpart: NDArray[np.float64]
    target: IntArray

    @property
    def difference(self) -> NDArray[np.float64]:
        """The (n,) differences issued - counterpart, d_i in the paper's Theorem 1."""
        issued, counterpart = np.asarray(self.issued, float), np.asarray(self.counterpart, float)
        if issued.ndim != 1 or issued.shape != counterpart.shape:
            raise ModelError(f"scores of shapes {issued.shape} and {counterpart.shape} are not n pairs")
        both = np.concatenate([issued, counterpart])
        if not ((both >= 0) & (both <= 1)).all():
            raise ModelError("scores must be probabilities: finite numbers from 0 to 1")
        difference: NDArray[np.float64] = issued - counterpart
        return difference


class PairedPoints(NamedTuple):
    """The k pairs that can be tested, in the order of rows and candidates: (k, d), (k, d), (k,)."""

    issued: FloatArray
    counterpart: FloatArray
    target: IntArray


class Moments(NamedTuple):
    """Of the differences: how many, their mean, and their deviation with n - 1 in the denominator."""

    n: int
    mean: float
    deviation: float


def score(
    suspect: Classifier,
    pairs: MarkedExplanations,
    *,
    size: int | None = None,
    rng: np.random.Generator | None = None,
) -> Scores:
    """Ask the suspect once, for both points of every pair or of ``size`` pairs drawn at random.

    The class is the pair's target, which F_W gives the counterfactual, whatever the suspect prefers.

    The at most 2N points are asked in the order of their values, each once: neither the order nor the
    number of questions tells which of the two was issued, so no answer can depend on that by way of it.

    Parameters
    ----------
    suspect
        Anything with ``predict_proba(x) -> (n, 2)``.
    pairs
        Marked explanations; only the paired ones are asked about.
    size
        How many pairs to draw, without replacement; all of them when left out.
    rng
        Where the draw comes from; needed exactly when ``size`` is given.
    """
    if (size is None) != (rng is None):
        raise ConfigError("size and rng belong together: give both to draw pairs, or none to ask about all")
    if size is not None and rng is not None:
        pairs = sample_pairs(pairs, size, rng)
    issued, counterpart, target = paired_points(pairs)
    points, place = np.unique(np.concatenate([issued, counterpart]), axis=0, return_inverse=True)
    answers = _ask(suspect, points)[place.reshape(-1)]
    rows = np.arange(len(target))
    return Scores(answers[rows, target], answers[rows + len(target), target], target)


def sample_pairs(pairs: MarkedExplanations, size: int, rng: np.random.Generator) -> MarkedExplanations:
    """Return the same explanations with ``size`` of the paired ones, drawn at random, still paired."""
    size = count("the number of pairs to draw", size, 1)
    there = np.flatnonzero(pairs.paired)
    if size > len(there):
        raise ConfigError(f"{size} pairs cannot be drawn from {len(there)}; ask for fewer, or mark more rows")
    paired = np.zeros(pairs.paired.size, np.bool_)
    paired[rng.choice(there, size, replace=False)] = True
    return pairs._replace(paired=paired.reshape(pairs.paired.shape))


def paired_points(pairs: MarkedExplanations) -> PairedPoints:
    """Return the points of the pairs that can be tested, or say what is wrong with them."""
    mask = np.asarray(pairs.paired)
    shape = np.shape(pairs.issued)
    if len(shape) != 3 or np.shape(pairs.counterpart) != shape:
        raise ConfigError(
            f"issued {shape} and counterpart {np.shape(pairs.counterpart)} must both be (n, m, d)"
        )
    if mask.dtype != np.bool_ or mask.shape != shape[:2] or np.shape(pairs.found) != shape[:2]:
        raise ConfigError(f"found and paired must be {shape[:2]} truth values, as issued is {shape}")
    if np.shape(pairs.target) != shape[:1] or not np.isin(pairs.target, (0, 1)).all():
        raise ConfigError(f"target must be {shape[0]} classes, 0 or 1")
    if not mask.any():
        raise ConfigError("there is no pair to test: no issued counterfactual differs from its counterpart")
    if (mask & ~np.asarray(pairs.found, np.bool_)).any():
        raise ConfigError("a pair is marked for testing whose counterfactual was not found")
    points = PairedPoints(
        pairs.issued[mask], pairs.counterpart[mask], pairs.target[np.nonzero(mask)[0]].astype(np.int64)
    )
    if not (np.isfinite(points.issued).all() and np.isfinite(points.counterpart).all()):
        raise ConfigError("a pair has a value that is not finite")
    return points


def moments(scores: Scores) -> Moments:
    """Return mean and deviation of the differences, whatever order the pairs are in.

    >>> moments(Scores(np.array([0.75, 0.5]), np.array([0.5, 0.5]), np.array([1, 1]))).mean
    0.125
    """
    d = scores.difference
    if len(d) < 2:
        raise ConfigError(f"a scatter needs at least 2 pairs; there are {len(d)}")
    if (d == d[0]).all():
        return Moments(len(d), float(d[0]), 0.0)
    mean = math.fsum(d) / len(d)
    return Moments(len(d), mean, math.sqrt(math.fsum((d - mean) ** 2) / (len(d) - 1)))


def _ask(suspect: Classifier, points: FloatArray) -> NDArray[np.float64]:
    name = type(suspect).__name__
    try:
        answer: Any = suspect.predict_proba(points)
    except CfmarkError:
        raise
    except Exception as problem:
        raise ModelError(f"{name}: predict_proba failed on {len(points)} rows: {problem!r}") from problem
    try:
        values = np.asarray(answer)
        if values.dtype.kind not in "fiu":
            raise TypeError(f"it holds {values.dtype}")
    except (TypeError, ValueError) as problem:
        raise ModelError(f"{name} answered with something that is not numbers ({problem})") from problem
    if values.shape != (len(points), 2):
        raise ModelError(
            f"{name} answered with shape {values.shape} to {len(points)} rows; ({len(points)}, 2) is needed"
        )
    return _probabilities(values.astype(np.float64), name)


def _probabilities(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise ModelError(f"{name} answered with a value that is not finite")
    if values.min() < -1e-6 or values.max() > 1 + 1e-6:
        raise ModelError(f"{name} answered with {values.min():g} to {values.max():g}; 0 to 1 is needed")
    off = float(np.abs(values.sum(axis=1) - 1).max())
    if off > SUM_TOLERANCE:
        raise ModelError(f"{name} answered with probabilities whose sum misses 1 by {off:.3g}")
    return np.clip(values, 0, 1)
