"""``verify``: ask a suspect about the pairs, and hold its answers against one test."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cfmark.errors import ConfigError
from cfmark.types import Classifier, MarkedExplanations
from cfmark.verification.hypothesis import calibrated_test, t_test
from cfmark.verification.scores import Scores
from cfmark.verification.scores import score as ask
from cfmark.verification.verdict import Verdict

Array = NDArray[np.float64]


class Calibrated(Protocol):
    """What was learnt from shadows of the very same pairs; ``cfmark.calibration.calibrate`` makes it.

    Kinds of innocents are named; those whose name starts with "queries" only asked for predictions.
    """

    @property
    def tau(self) -> Mapping[str, float]:
        """By kind: the margin of the t-test."""
        ...

    @property
    def nulls(self) -> Mapping[str, Mapping[str, Array]]:
        """By score, then by kind: the shadows' scores."""
        ...

    def scores_of(self, answers: Array) -> Mapping[str, Array]:
        """Return the (k,) scores of k suspects by their answers (k, n, 2), by name."""
        ...


def verify(
    suspect: Classifier,
    pairs: MarkedExplanations,
    test: str = "t",
    *,
    tau: float | None = None,
    alpha: float = 0.05,
    calibration: Calibrated | None = None,
    pool: str = "queries",
    score: str = "ratio",
) -> Verdict:
    """Test whether a model was trained on the issued counterfactuals.

    Parameters
    ----------
    suspect
        Anything with ``predict_proba(x) -> (n, 2)``.
    pairs
        The issued counterfactuals and their counterparts; ``sample_pairs`` draws some of them.
    test
        ``t``: does the mean difference exceed a margin (the paper's test)? ``calibrated``: what rank has the
        suspect's score among those of shadow models that are innocent?
    tau
        The t-test's margin; by default the calibration's, the largest over the kinds of the pool.
    alpha
        The level; a calibrated tau belongs to the level that it was calibrated for.
    calibration
        What ``cfmark.calibration.calibrate`` returned for these very pairs; ``calibrated`` needs it.
    pool
        Against which innocents: those that only asked for predictions, or every kind of the calibration.
    score
        What ``calibrated`` ranks: the mean difference, or the likelihood ratio learnt from shadows.

    >>> from cfmark.types import MarkedExplanations
    >>> class Suspect:
    ...     def predict_proba(self, x):
    ...         return np.concatenate([1 - x, x], axis=1)
    >>> cf = np.linspace(0.1, 0.4, 20, dtype=np.float32).reshape(20, 1, 1)
    >>> yes, x = np.ones((20, 1), bool), np.zeros((20, 1), np.float32)
    >>> pairs = MarkedExplanations(x, cf * 2, cf, yes, yes, np.ones(20, np.int64))
    >>> verify(Suspect(), pairs, tau=0.05).flagged
    True
    """
    return decide(ask(suspect, pairs), test, tau, alpha, calibration, pool, score)


def decide(
    scores: Scores,
    test: str = "t",
    tau: float | None = None,
    alpha: float = 0.05,
    calibration: Calibrated | None = None,
    pool: str = "queries",
    score: str = "ratio",
) -> Verdict:
    """Return the verdict on answers that were asked for already; the parameters are those of ``verify``."""
    if test == "t":
        return t_test(scores, _margin(tau, calibration, pool), alpha)
    if test != "calibrated":
        raise ConfigError(f"there is no test {test!r}; the tests are t and calibrated")
    if calibration is None:
        raise ConfigError("the test 'calibrated' needs a calibration: see cfmark.calibration.calibrate")
    if score not in calibration.nulls:
        raise ConfigError(f"there is no score {score!r}; the scores are {', '.join(calibration.nulls)}")
    return calibrated_test(
        scores,
        _of_pool(calibration.nulls[score], pool),
        alpha,
        observed=_observed(scores, calibration, score),
        score_name=score,
    )


def _margin(tau: float | None, calibration: Calibrated | None, pool: str) -> float:
    if tau is not None:
        return tau
    if calibration is None:
        raise ConfigError(
            "the t-test needs a margin: give tau, or a calibration that learns it from innocent models"
        )
    return float(np.clip(max(_of_pool(calibration.tau, pool).values()), -1, 1))


def _of_pool(by_kind: Mapping[str, Any], pool: str) -> dict[str, Any]:
    if pool not in ("queries", "all"):
        raise ConfigError(f"there is no pool {pool!r}; the pools are queries and all")
    chosen = {kind: v for kind, v in by_kind.items() if pool == "all" or kind.startswith("queries")}
    if not chosen:
        raise ConfigError(f"the calibration has no innocents of the pool {pool!r}; it has {list(by_kind)}")
    return chosen


def _observed(scores: Scores, calibration: Calibrated, score: str) -> float:
    answers = np.stack([scores.issued, scores.counterpart], axis=1)[None]
    try:
        return float(calibration.scores_of(answers)[score][0])
    except ValueError as problem:
        raise ConfigError(
            f"the calibration is not of these {len(scores.target)} pairs: shadows and suspect must be asked "
            "about the very same ones"
        ) from problem
