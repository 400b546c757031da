"""How many pairs the t-test needs, and what it can see with those at hand: asked before anyone is accused."""

import math
from typing import NamedTuple

from scipy import special

from cfmark.errors import ConfigError
from cfmark.verification.checks import count, number, share
from cfmark.verification.scores import Scores, moments

#: More pairs than anybody has.
MOST_PAIRS = 2**40


class Effect(NamedTuple):
    """How far the mean difference exceeds tau, and how much the differences scatter."""

    effect: float
    deviation: float


def effect_of(scores: Scores, tau: float = 0.0) -> Effect:
    """Return the effect and deviation that a power calculation starts from.

    Take them from shadow models, not from the suspect: power computed from the very answers that are tested
    only repeats the p-value.
    """
    _, mean, deviation = moments(scores)
    return Effect(mean - number("tau", tau), deviation)


def power_at(n: int, effect: float, deviation: float, alpha: float = 0.05) -> float:
    """Return the probability that the one-sided paired t-test on n pairs flags.

    With normal differences of mean tau + effect and the given deviation, T of Proposition 1 follows the
    noncentral t distribution with n - 1 degrees of freedom and noncentrality sqrt(n) effect / deviation.

    >>> round(power_at(20, effect=0.2, deviation=1.0), 4)
    0.2171
    """
    n, alpha = count("n", n, 2), share("alpha", alpha)
    effect, deviation = number("effect", effect), _deviation(deviation)
    if deviation == 0:
        return 1.0 if effect > 0 else 0.0
    noncentrality = math.sqrt(n) * (effect / deviation)
    quantile = special.stdtrit(n - 1, alpha)  # the alpha-quantile of t, that is -t_{1-alpha}
    # P(T > t_{1-alpha}) by symmetry: the lower tail at the mirrored noncentrality
    return float(special.nctdtr(n - 1, -noncentrality, quantile))


def pairs_needed(effect: float, deviation: float, alpha: float = 0.05, power: float = 0.9) -> int:
    """Return the smallest number of pairs with which the t-test has at least this power.

    >>> pairs_needed(effect=0.5, deviation=1.0, alpha=0.05, power=0.95)
    45
    """
    power = share("power", power)
    if number("effect", effect) <= 0:
        raise ConfigError(f"effect is {effect}; no number of pairs shows an effect that is not above zero")
    enough = 2
    while power_at(enough, effect, deviation, alpha) < power:
        if enough >= MOST_PAIRS:
            raise ConfigError(f"an effect of {effect} with deviation {deviation} needs over {enough} pairs")
        enough *= 2
    few = max(1, enough // 2)
    while enough - few > 1:
        middle = (few + enough) // 2
        if power_at(middle, effect, deviation, alpha) < power:
            few = middle
        else:
            enough = middle
    return enough


def _deviation(value: float) -> float:
    deviation = number("deviation", value)
    if deviation < 0:
        raise ConfigError(f"deviation is {deviation}; it cannot be negative")
    return deviation
