"""The e-process of the coins: evidence that may be looked at after every batch, as often as one likes.

For a fair coin s that is independent of what came before it, 2 sigmoid(s r) has mean 1 whatever number r was
settled beforehand; the product over distinct coins is then a martingale that starts at 1, and by Ville's
inequality it ever reaches 1 / alpha with probability at most alpha. For a list of queries that depend on
earlier answers it is the only judge: there r may come from earlier records alone.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cfmark.errors import ConfigError
from cfmark.verification.checks import numbers, signs

Array = NDArray[np.float64]


class EProcess(NamedTuple):
    """Evidence after each coin.

    Attributes
    ----------
    log_e
        (k + 1,) the logarithm of the evidence; the first is 0.
    """

    log_e: Array

    @property
    def value(self) -> float:
        """The logarithm of the evidence at the end."""
        return float(self.log_e[-1])

    @property
    def p_value(self) -> float:
        """1 / the largest evidence so far: valid whenever one stops."""
        return float(min(1.0, np.exp(-self.log_e.max())))

    def first(self, alpha: float) -> int | None:
        """Return after how many coins the evidence reached 1 / alpha, or None."""
        reached = self.log_e >= -np.log(alpha)
        return int(reached.argmax()) if reached.any() else None


def e_process(log_ratios: Mapping[str, ArrayLike], sign: ArrayLike) -> EProcess:
    """Return the evidence of several families together: the mean of theirs, which is again such a process.

    Parameters
    ----------
    log_ratios
        By family, the (k,) log likelihood ratios r of "low was issued" against "high was", in the order in
        which the coins were tossed. Family and ratio of a coin were settled without it.
    sign
        (k,) the coins, 1 or -1, each coin once.

    >>> round(e_process({"one": [10.0, 10.0]}, [1, 1]).value, 3)
    1.386
    """
    if not log_ratios:
        raise ConfigError("there are no log ratios: at least one family is needed")
    each = []
    for name, values in log_ratios.items():
        r = numbers(f"log ratios of {name!r}", values)
        steps = np.log(2) - np.logaddexp(0, -signs(sign, len(r)) * r)
        each.append(np.concatenate([[0.0], np.cumsum(steps)]))
    if len({len(path) for path in each}) != 1:
        raise ConfigError("every family needs a log ratio for each coin")
    together: Array = np.logaddexp.reduce(np.stack(each), axis=0) - np.log(len(each))
    return EProcess(together)
