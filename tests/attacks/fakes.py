"""A service that answers ``predict`` and ``explain`` and has nothing else to look at."""

from dataclasses import dataclass, field

import numpy as np

from cfmark.types import BoolArray, FloatArray

WIDTH = 4
#: Added to every counterfactual that is issued: a mark that the tests can see.
MARK = np.float32(0.001)


def rows(count: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).uniform(0.1, 0.9, size=(count, WIDTH)).astype(np.float32)


def probabilities(x: FloatArray) -> FloatArray:
    p = 1 / (1 + np.exp(-6 * (x[:, 0] - x[:, 1])))
    return np.stack([1 - p, p], axis=1).astype(np.float32)


def opposite(x: FloatArray, number: int = 0) -> FloatArray:
    """Swap the two columns that decide, and mark: the other class."""
    cf = x[:, [1, 0, 2, 3]] + MARK
    cf[:, 3] += 0.01 * number
    return cf.astype(np.float32)


@dataclass
class Fake:
    """Answers with ``n_cfs`` counterfactuals; none for rows whose third column is below ``bar``."""

    n_cfs: int = 1
    bar: float = 0.0
    calls: list[tuple[str, FloatArray]] = field(default_factory=list)

    def service(self) -> "_Strict":
        return _Strict(self)

    def sent(self, what: str) -> FloatArray:
        return np.concatenate(
            [np.zeros((0, WIDTH), np.float32)] + [x for name, x in self.calls if name == what]
        )


class _Strict:
    """What an attacker holds: the two calls, and an error for anything else."""

    __slots__ = ("_ask",)

    def __init__(self, fake: Fake) -> None:
        def ask(what: str, x: FloatArray) -> FloatArray:
            assert x.ndim == 2
            assert x.dtype == np.float32
            assert len(x), "an empty question"
            fake.calls.append((what, x.copy()))
            return x

        object.__setattr__(self, "_ask", (ask, fake.n_cfs, fake.bar))

    def __getattribute__(self, name: str) -> object:
        if name not in ("predict", "explain"):
            raise AssertionError(f"an attack looked at {name!r}")
        ask, n_cfs, bar = object.__getattribute__(self, "_ask")

        def predict(x: FloatArray) -> FloatArray:
            return probabilities(ask("predict", x))

        def explain(x: FloatArray) -> tuple[FloatArray, BoolArray]:
            ask("explain", x)
            found = np.broadcast_to((x[:, 2] >= bar)[:, None], (len(x), n_cfs)).copy()
            cf = np.stack([opposite(x, m) for m in range(n_cfs)], axis=1)
            return np.where(found[:, :, None], cf, 0).astype(np.float32), found

        return predict if name == "predict" else explain
