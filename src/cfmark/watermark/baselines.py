"""Marks that are not optimised, to compare with."""

from dataclasses import dataclass

import jax
import numpy as np

from cfmark.errors import ConfigError
from cfmark.types import FloatArray


@dataclass(frozen=True)
class RandomConfig:
    """A random perturbation.

    Attributes
    ----------
    delta
        Every column moves by a uniform amount of at most so much.
    """

    delta: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.delta <= 1:
            raise ConfigError("delta must be above 0 and at most 1")


def random_theta(key: jax.Array, cf: FloatArray, scalars: int, config: RandomConfig) -> FloatArray:
    """Return theta (n, d): uniform in the ball for numbers, zero for categories."""
    theta = np.array(jax.random.uniform(key, cf.shape, minval=-config.delta, maxval=config.delta))
    theta[:, scalars:] = 0
    return theta
