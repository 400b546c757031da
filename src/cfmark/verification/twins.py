"""Pairs whose issued half was chosen by a coin: what may be seen without the coin, and the coin itself.

Everything that shapes a score (weights, shadows, the order of the two points) works on ``Twins``, which do
not say which of the two was issued. Only the test itself sees ``Tossed.sign``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cfmark.errors import ConfigError
from cfmark.types import BoolArray, FloatArray, IntArray, MarkedExplanations, Twins
from cfmark.verification.scores import paired_points


class Tossed(NamedTuple):
    """Twins and their coins, one record a coin.

    Attributes
    ----------
    twins
        The k pairs of points, in an order that has nothing to do with the coins.
    sign
        (k,) 1 where ``twins.low`` was issued, -1 where ``twins.high`` was.
    adaptive
        (k,) whether the query was itself something that was served: such a pair exists only because an
        earlier coin fell as it did.
    repeats
        How many further records shared a coin with one of these.
    """

    twins: Twins
    sign: NDArray[np.int8]
    adaptive: BoolArray
    repeats: int

    def only(self, chosen: BoolArray) -> "Tossed":
        """Return some of the records."""
        twins = Twins._make(part[chosen] for part in self.twins)
        return Tossed(twins, self.sign[chosen], self.adaptive[chosen], self.repeats)


def tossed(pairs: MarkedExplanations) -> Tossed:
    """Split issued pairs into twins and coins.

    The twins' order is that of their values. A query has one coin for each of its counterfactuals: further
    records of the same coin are dropped, and records that contradict each other are an error.
    """
    points = paired_points(pairs)
    row, index = np.nonzero(np.asarray(pairs.paired))
    x = np.asarray(pairs.x, np.float32)[row]
    first, place = _first_of_each_coin(x, index.astype(np.int64))
    for name, part in (("issued", points.issued), ("withheld", points.counterpart)):
        differs = (part != part[first][place]).any(axis=1)
        if differs.any():
            other = int(np.argmax(differs))
            raise ConfigError(
                f"two records of one query and number have different {name} values (row {row[other]}): "
                f"a coin is tossed once"
            )
    kept = np.sort(first)
    issued, withheld = points.issued[kept], points.counterpart[kept]
    low_issued = _before(issued, withheld)
    low = np.where(low_issued[:, None], issued, withheld)
    high = np.where(low_issued[:, None], withheld, issued)
    twins = Twins(x[kept], low, high, points.target[kept], index[kept].astype(np.int64))
    sign = np.where(low_issued, 1, -1).astype(np.int8)
    return Tossed(twins, sign, served_before(x[kept], pairs), len(row) - len(kept))


def served_before(x: FloatArray, pairs: MarkedExplanations) -> BoolArray:
    """Say which of the queries (k, d) are themselves counterfactuals that the pairs issued."""
    served = np.asarray(pairs.issued)[np.asarray(pairs.found, bool)].astype(np.float32)
    known = {point.tobytes() for point in served}
    return np.array([row.tobytes() in known for row in np.ascontiguousarray(x, np.float32)], bool)


def _first_of_each_coin(x: FloatArray, index: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each coin's first record is, and for each record the number of its coin."""
    coins: dict[tuple[bytes, int], int] = {}
    first: list[int] = []
    place = np.zeros(len(x), np.int64)
    for i, (row, number) in enumerate(zip(np.ascontiguousarray(x), index.tolist(), strict=True)):
        coin = coins.setdefault((row.tobytes(), number), len(coins))
        if coin == len(first):
            first.append(i)
        place[i] = coin
    return np.array(first, np.int64), place


def _before(a: FloatArray, b: FloatArray) -> BoolArray:
    """Say which rows of ``a`` come before those of ``b`` by the first value in which they differ."""
    differs = a != b
    column = differs.argmax(axis=1)
    rows = np.arange(len(a))
    return np.asarray(a[rows, column] < b[rows, column])
