"""Calibrate the tests on shadows: tau for the t-test, null samples for the rank test, and the power at hand.

Fit, rank and power shadows are disjoint draws.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cfmark.calibration.ratio import Reference, fit_reference, ratio
from cfmark.calibration.shadows import Answers, Learnt, shadows
from cfmark.errors import ConfigError
from cfmark.types import MarkedExplanations
from cfmark.verification import rank_p_value

SCORES = ("mean", "ratio")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class CalibrationConfig:
    """How many shadows, of which models.

    Attributes
    ----------
    fit, rank, power
        Shadows of each kind that the ratio is learnt from, that the null distribution is made of, and that
        tell how often the guilty are flagged. They are different models.
    alpha
        The level at which tau keeps the innocents.
    families
        The models that the innocent shadows are.
    """

    fit: int = 100
    rank: int = 199
    power: int = 50
    alpha: float = 0.05
    families: tuple[str, ...] = ("mlp",)

    def __post_init__(self) -> None:
        if self.fit < 10:
            raise ConfigError(f"fit = {self.fit}: a Gaussian needs at least 10 shadows")
        if not 0 < self.alpha < 1 or self.rank < 1 / self.alpha - 1:
            raise ConfigError(f"rank = {self.rank} shadows can never reach alpha = {self.alpha}")
        if self.power < 0:
            raise ConfigError(f"power = {self.power}: it cannot be negative")


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
    power
        By score, then by kind of thief: the share of the power shadows that the test flags at alpha.
    """

    tau: dict[str, float]
    reference: Reference
    nulls: dict[str, dict[str, Array]]
    power: dict[str, dict[str, float]]

    def scores_of(self, answers: Answers) -> dict[str, Array]:
        """Return the (k,) scores of k suspects by their answers (k, n, 2)."""
        return _scores(self.reference, answers)


def calibrate(
    key: jax.Array,
    guilty: Mapping[str, Learnt],
    innocent: Mapping[str, Learnt],
    pairs: MarkedExplanations,
    config: CalibrationConfig | None = None,
    progress: Callable[[int], None] | None = None,
) -> Calibration:
    """Train the shadows of every kind and learn tau, the ratio and the null distributions.

    ``progress`` is called with the number of models that were trained, group by group.
    """
    config = config or CalibrationConfig()
    key_guilty, key_fit, key_rank, key_power = jax.random.split(key, 4)
    reference = fit_reference(
        shadows(key_guilty, guilty, pairs, config.fit, progress=progress),
        _by_family(key_fit, innocent, pairs, config.fit, config, progress),
    )
    rank = _by_family(key_rank, innocent, pairs, config.rank, config, progress)
    each = {kind: _scores(reference, answers) for kind, answers in rank.items()}
    nulls = {name: {kind: scores[name] for kind, scores in each.items()} for name in SCORES}
    thieves = shadows(key_power, guilty, pairs, config.power, progress=progress) if config.power else {}
    return Calibration(
        tau={kind: calibrated_tau(answers, config.alpha) for kind, answers in rank.items()},
        reference=reference,
        nulls=nulls,
        power=_power(reference, nulls, thieves, config.alpha),
    )


def _scores(reference: Reference, answers: Answers) -> dict[str, Array]:
    return {"mean": _mean(answers), "ratio": ratio(reference, answers)}


def _power(
    reference: Reference, nulls: dict[str, dict[str, Array]], thieves: dict[str, Answers], alpha: float
) -> dict[str, dict[str, float]]:
    """Return the share of thieves whose largest p-value over the kinds of innocents is at most alpha."""
    shares: dict[str, dict[str, float]] = {name: {} for name in SCORES}
    for kind, answers in thieves.items():
        for name, scores in _scores(reference, answers).items():
            worst = [max(rank_p_value(s, null) for null in nulls[name].values()) for s in scores]
            shares[name][kind] = float(np.mean(np.array(worst) <= alpha))
    return shares


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
    innocent: Mapping[str, Learnt],
    pairs: MarkedExplanations,
    count: int,
    config: CalibrationConfig,
    progress: Callable[[int], None] | None,
) -> dict[str, Answers]:
    """Return answers by "kind, family"."""
    answers: dict[str, Answers] = {}
    for number, family in enumerate(config.families):
        found = shadows(jax.random.fold_in(key, number), innocent, pairs, count, family, progress)
        answers |= {f"{kind}, {family}": values for kind, values in found.items()}
    return answers


def _mean(answers: Answers) -> Array:
    means: Array = (answers[:, :, 0] - answers[:, :, 1]).mean(axis=1)
    return means
