"""Calibrate a test on shadows: tau for the t-test, and the null samples of the rank test.

``pool`` says against which innocents: ``queries`` (the paper's claim: used our counterfactuals, against only
asked us) or ``all`` (every kind of innocent). Fit, rank and power shadows are disjoint draws.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cfmark.calibration.ratio import Reference, fit_reference, ratio
from cfmark.calibration.shadows import Answers, shadows
from cfmark.errors import ConfigError
from cfmark.types import MarkedExplanations, Transcript

Pool = Literal["queries", "all"]
ScoreName = Literal["mean", "ratio"]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class CalibrationConfig:
    """How many shadows, of which models.

    Attributes
    ----------
    fit, rank
        Shadows of each kind that the ratio is learnt from, and that the null distribution is made of.
    alpha
        The level at which tau keeps the innocents.
    families
        The models that the innocent shadows are.
    """

    fit: int = 100
    rank: int = 199
    alpha: float = 0.05
    families: tuple[str, ...] = ("mlp",)

    def __post_init__(self) -> None:
        if self.fit < 10:
            raise ConfigError(f"fit = {self.fit}: a Gaussian needs at least 10 shadows")
        if not 0 < self.alpha < 1 or self.rank < 1 / self.alpha - 1:
            raise ConfigError(f"rank = {self.rank} shadows can never reach alpha = {self.alpha}")


class Calibration(NamedTuple):
    """What a test on these pairs needs.

    Attributes
    ----------
    tau
        By kind of innocent: the margin at which the t-test flags a share alpha of its rank shadows.
    reference
        What the ratio is computed with.
    nulls
        By score, then by kind: the rank shadows' scores.
    """

    tau: dict[str, float]
    reference: Reference
    nulls: dict[str, dict[str, Array]]

    def scores_of(self, answers: Answers) -> dict[str, Array]:
        """Return the (k,) scores of k suspects by their answers (k, n, 2)."""
        return {"mean": _mean(answers), "ratio": ratio(self.reference, answers)}


def calibrate(
    key: jax.Array,
    guilty: Mapping[str, Transcript],
    innocent: Mapping[str, Transcript],
    pairs: MarkedExplanations,
    config: CalibrationConfig | None = None,
) -> Calibration:
    """Train the shadows of every kind and learn tau, the ratio and the null distributions."""
    config = config or CalibrationConfig()
    key_guilty, key_fit, key_rank = jax.random.split(key, 3)
    thieves = shadows(key_guilty, guilty, pairs, config.fit)
    fit = _by_family(key_fit, innocent, pairs, config.fit, config)
    rank = _by_family(key_rank, innocent, pairs, config.rank, config)
    reference = fit_reference(thieves, fit)
    return Calibration(
        tau={kind: calibrated_tau(answers, config.alpha) for kind, answers in rank.items()},
        reference=reference,
        nulls={
            "mean": {kind: _mean(answers) for kind, answers in rank.items()},
            "ratio": {kind: ratio(reference, answers) for kind, answers in rank.items()},
        },
    )


def calibrated_tau(answers: Answers, alpha: float) -> float:
    """Return the smallest tau at which the t-test flags one more innocent with probability at most alpha.

    The t-test flags at tau exactly when its lower confidence bound is above tau, so tau is the conformal
    upper quantile of the innocents' bounds.
    """
    bounds = np.sort(_lower_bounds(answers, alpha))
    place = int(np.ceil((len(bounds) + 1) * (1 - alpha)))
    return float(bounds[min(place, len(bounds)) - 1])


def _lower_bounds(answers: Answers, alpha: float) -> Array:
    difference = answers[:, :, 0] - answers[:, :, 1]
    n = difference.shape[1]
    error = difference.std(axis=1, ddof=1) / np.sqrt(n)
    bounds: Array = difference.mean(axis=1) - stats.t.ppf(1 - alpha, n - 1) * error
    return bounds


def _by_family(
    key: jax.Array,
    innocent: Mapping[str, Transcript],
    pairs: MarkedExplanations,
    count: int,
    config: CalibrationConfig,
) -> dict[str, Answers]:
    """Return answers by "kind, family"."""
    answers: dict[str, Answers] = {}
    for number, family in enumerate(config.families):
        found = shadows(jax.random.fold_in(key, number), innocent, pairs, count, family)
        answers |= {f"{kind}, {family}": values for kind, values in found.items()}
    return answers


def _mean(answers: Answers) -> Array:
    means: Array = (answers[:, :, 0] - answers[:, :, 1]).mean(axis=1)
    return means
