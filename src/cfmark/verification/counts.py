"""Right and wrong accusations, counted."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cfmark.errors import ConfigError


class Confusion(NamedTuple):
    """How many suspects were rightly and wrongly flagged.

    Attributes
    ----------
    tp
        Guilty and flagged.
    fn
        Guilty and not flagged.
    fp
        Innocent and flagged.
    tn
        Innocent and not flagged.
    """

    tp: int
    fn: int
    fp: int
    tn: int

    @property
    def precision(self) -> float:
        """The share of the flagged that is guilty; 0 when nobody is flagged."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float:
        """The share of the guilty that is flagged; 0 when nobody is guilty."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 when nobody guilty is flagged.

        It says little alone: whoever flags everybody among 100 guilty and 50 innocent gets 0.80.

        >>> Confusion(tp=100, fn=0, fp=50, tn=0).f1
        0.8
        """
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)


def confusion(flagged: ArrayLike, guilty: ArrayLike) -> Confusion:
    """Count suspects by what was said about them, ``flagged`` (n,), and what they are, ``guilty`` (n,)."""
    said, true = _truths("flagged", flagged), _truths("guilty", guilty)
    if len(said) != len(true):
        raise ConfigError(f"{len(said)} verdicts cannot be compared with {len(true)} suspects")
    return Confusion(
        tp=int((said & true).sum()),
        fn=int((~said & true).sum()),
        fp=int((said & ~true).sum()),
        tn=int((~said & ~true).sum()),
    )


def _truths(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    array: NDArray[Any] = np.asarray(values)
    if array.ndim != 1 or (array.dtype != np.bool_ and len(array)):
        raise ConfigError(
            f"{name} must be a list of truth values; it is {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.bool_)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
