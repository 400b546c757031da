"""What a family of thieves makes of the coins, learnt from shadows, as plain arrays.

z are the logits that a model gives at both points of every pair, 2k numbers. Issuing ``low`` rather than
``high`` moves a thief's z at that pair by 2 J_i on average, around a mean mu, with a noise of covariance
Sigma that all pairs share: the luck of a training shifts many logits at once, and to take that out of each
pair is worth more than anything that the pair says alone. Were Sigma known, a coin's log likelihood ratio is

    r_i = 2 J_i . (Sigma^-1 (z - mu))_i

It is linear in what the suspect answers, and knows nothing of the real coins.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cfmark.errors import ConfigError

Array = NDArray[np.float64]
#: Probabilities are kept this far from 0 and 1 before their logits are taken.
EDGE = 1e-3
#: How far the covariance is shrunk towards its diagonal, and what is added to that.
SHRINKAGE, RIDGE = 0.2, 0.01
FEWEST = 20


class Weights(NamedTuple):
    """One family's weights for k pairs.

    Attributes
    ----------
    mean
        (k, 2) mu: the shadows' mean logits at ``low`` and ``high``.
    effect
        (k, 2) J: half of what the coin changes there.
    precision
        (2k, 2k) the inverse of Sigma.
    """

    mean: Array
    effect: Array
    precision: Array


def fit_weights(sign: ArrayLike, answers: ArrayLike) -> Weights:
    """Learn the weights from shadows: their coins (s, k) of 1 and -1, and their answers (s, k, 2)."""
    s, z = np.asarray(sign, np.float64), logits(answers)
    if z.ndim != 3 or s.shape != z.shape[:2] or not np.isin(s, (-1, 1)).all():
        raise ConfigError(f"coins {s.shape} and answers {z.shape} are not of s shadows and k pairs")
    if len(z) < FEWEST:
        raise ConfigError(f"{len(z)} shadows are too few for weights; at least {FEWEST} are needed")
    mean = z.mean(axis=0)
    centred = z - mean[None]
    effect = np.einsum("sk,ski->ki", s, centred) / len(z)
    noise = (centred - s[:, :, None] * effect[None]).reshape(len(z), -1)
    covariance = (1 - SHRINKAGE) * (noise.T @ noise) / len(z)
    covariance[np.diag_indices_from(covariance)] += SHRINKAGE * (noise**2).mean(axis=0) + RIDGE
    return Weights(mean, effect, np.linalg.inv(covariance))


def log_ratios(weights: Weights, answers: ArrayLike) -> Array:
    """Return the (..., k) log likelihood ratios of "low was issued" for answers (..., k, 2)."""
    z = logits(answers)
    k = len(weights.mean)
    if z.shape[-2:] != (k, 2):
        raise ConfigError(f"answers of shape {z.shape} to weights for {k} pairs; (..., {k}, 2) is needed")
    centred = (z - weights.mean).reshape(*z.shape[:-2], 2 * k)
    whitened = (centred @ weights.precision).reshape(*z.shape)
    ratios: Array = 2 * (whitened * weights.effect).sum(axis=-1)
    return ratios


def logits(answers: ArrayLike) -> Array:
    """Return the logits of probabilities, kept off 0 and 1."""
    p = np.clip(np.asarray(answers, np.float64), EDGE, 1 - EDGE)
    values: Array = np.log(p) - np.log1p(-p)
    return values
