"""The test ``coin``: is the suspect independent of the owner's coins?

Given the pairs, and whatever the suspect is, coins that it knows nothing of are fair and independent. So for
any scores g that the pairs and the suspect's answers give, the law of T(s) under a fresh toss of all signs s
is known, and the share of tosses with T at least as large as with the real signs is an exact p-value.
Several families of scores may compete: the choice among them is made anew for every toss.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cfmark.errors import ConfigError
from cfmark.verification.checks import count, numbers, share, signs
from cfmark.verification.verdict import Interval, Verdict

Array = NDArray[np.float64]
Signs = NDArray[np.int8]
#: Up to so many coins, all tosses are counted instead of some being drawn.
EXACT_COINS = 16
#: Tosses that are drawn otherwise, and how many at a time.
FLIPS, CHUNK = 99_999, 8_192
#: Statistics that differ by less are ties, and ties count against the accusation.
TIE = 1e-9


class Law(NamedTuple):
    """A p-value by sign flips: the statistic, which family gave it, and from how many tosses."""

    statistic: float
    family: str
    p_value: float
    flips: int
    exact: bool


def sign_flips(scores: Mapping[str, ArrayLike], sign: ArrayLike, flips: int = FLIPS, seed: int = 0) -> Law:
    """Return the p-value of T(s) = max over families of s.g / |g|, by tossing all signs again.

    Parameters
    ----------
    scores
        By family, the (k,) scores g: above zero where the suspect's answers speak for ``low`` as issued.
    sign
        (k,) the real coins, 1 or -1.
    flips
        Tosses that are drawn, where there are too many to count; p is then (1 + larger) / (1 + flips).
    seed
        Of the tosses: fixed before the suspect was asked.

    >>> sign_flips({"one": [1.0, 2.0, 3.0]}, [1, 1, 1]).p_value
    0.125
    """
    g, names = _table(scores)
    s = signs(sign, g.shape[1])
    observed = g @ s
    best = int(observed.argmax())
    statistic = float(observed[best])
    if g.shape[1] <= EXACT_COINS:
        every = _all_signs(g.shape[1])
        p = _as_large(g, every, statistic) / len(every)
        return Law(statistic, names[best], p, len(every), True)
    flips = count("flips", flips, 1)
    random = np.random.default_rng(seed)
    larger, left = 0, flips
    while left:
        size = min(left, CHUNK)
        larger += _as_large(g, _drawn(random, size, g.shape[1]), statistic)
        left -= size
    return Law(statistic, names[best], (1 + larger) / (1 + flips), flips, False)


def coin_test(
    scores: Mapping[str, ArrayLike],
    sign: ArrayLike,
    difference: ArrayLike,
    alpha: float = 0.05,
    *,
    flips: int = FLIPS,
    seed: int = 0,
    details: Mapping[str, Any] | None = None,
) -> Verdict:
    """Test whether the suspect is independent of the coins.

    Parameters
    ----------
    scores, sign, flips, seed
        As in ``sign_flips``.
    difference
        (k,) the suspect's probability of the pair's class at ``low`` minus that at ``high``: the effect is
        its mean in the direction of the coins.
    alpha
        The level.
    details
        Whatever else the verdict shall say.
    """
    alpha = share("alpha", alpha)
    law = sign_flips(scores, sign, flips, seed)
    s = signs(sign, len(np.asarray(difference)))
    effects = s * numbers("differences", difference)
    return Verdict(
        test="coin",
        null="The suspect knows nothing of the owner's secret coins: whichever of two answers was issued, it "
        "would be the same model.",
        statistic=law.statistic,
        p_value=law.p_value,
        effect=float(effects.mean()),
        interval=shift_interval(effects, 1 - alpha, seed=seed),
        n=len(s),
        tau=None,
        alpha=alpha,
        assumptions=_assumptions(law, len(s)),
        details={
            "family": law.family,
            "families": list(scores),
            "flips": law.flips,
            "exact": law.exact,
            "seed": seed,
            **(details or {}),
        },
    )


def shift_interval(effects: Array, level: float, flips: int = 1_999, seed: int = 0) -> Interval:
    """Return the one-sided interval of shifts that sign flips do not reject: the mean is at least ``low``.

    A shift c is kept when the mean of effects - c does not lie above the upper ``level`` quantile of its
    sign flips. It is exact where the effects scatter symmetrically around one shift, as an effect has no law
    of its own under the alternative; the p-value does not use it.
    """
    effects, level = np.asarray(effects, np.float64), share("level", level)
    tosses = _drawn(np.random.default_rng(seed), count("flips", flips, 1), len(effects)).astype(np.float64)
    of_effects, of_ones = tosses @ effects, tosses.sum(axis=1)

    def kept(shift: float) -> bool:
        flipped = of_effects - shift * of_ones
        larger = (flipped >= effects.sum() - shift * len(effects) - TIE).sum()
        return bool((1 + larger) / (1 + len(tosses)) > 1 - level)

    low, high = -1.0, 1.0
    if kept(low):
        return Interval(low, 1.0, level, 1)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if kept(middle) else (middle, high)
    return Interval(low, 1.0, level, 1)


def _assumptions(law: Law, coins: int) -> tuple[str, ...]:
    how = (
        f"All {law.flips:,} tosses of the {coins} coins were counted"
        if law.exact
        else f"{law.flips:,} tosses of the {coins} coins were drawn with a seed that was fixed beforehand"
    )
    return (
        "The coins were fair, independent and out of the owner's hands: each is the first bit of an HMAC of "
        "the query under a secret that was committed to, together with all that shapes the pairs, before a "
        "public random value entered every coin.",
        "If the suspect is innocent, neither it nor what it learnt from depends on the coins. Nothing else "
        "is assumed of it: not its kind, its training or its data.",
        "Scores and weights were made from the pairs without the coins, and the pairs were chosen without "
        "them: no query was itself something that was served.",
        f"{how}; the largest of {'several' if law.family else 'all'} standardised sums was taken again in "
        "every toss, ties counted in the suspect's favour.",
        "The confidence interval takes the effects as symmetric around their mean; the p-value does not.",
    )


def _as_large(g: Array, tosses: Signs, statistic: float) -> int:
    """Count the tosses (r, k) whose statistic is at least the observed one."""
    best = (tosses.astype(np.float64) @ g.T).max(axis=1)
    return int((best >= statistic - TIE).sum())


def _table(scores: Mapping[str, ArrayLike]) -> tuple[Array, list[str]]:
    """Return the scores (f, k), each family scaled to length 1; one that is zero everywhere stays zero."""
    if not scores:
        raise ConfigError("there are no scores: at least one family is needed")
    rows = [numbers(f"scores of {name!r}", values) for name, values in scores.items()]
    if len({len(row) for row in rows}) != 1 or not len(rows[0]):
        raise ConfigError(f"scores of {[len(row) for row in rows]} coins; one for each coin is needed")
    lengths = [math.sqrt(math.fsum(row**2)) for row in rows]
    return np.stack([row / (n or 1.0) for row, n in zip(rows, lengths, strict=True)]), list(map(str, scores))


def _all_signs(coins: int) -> Signs:
    numbers = np.arange(2**coins)[:, None] >> np.arange(coins)[None]
    return np.where(numbers & 1, 1, -1).astype(np.int8)


def _drawn(random: np.random.Generator, rows: int, coins: int) -> Signs:
    bits = np.unpackbits(random.integers(0, 256, (rows, -(-coins // 8)), np.uint8), axis=1, count=coins)
    return (2 * bits.astype(np.int8) - 1).astype(np.int8)
