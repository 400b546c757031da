"""The score ``ratio``: how much better the guilty shadows explain a suspect's answers than the innocent ones.

For every pair and every kind of shadow a Gaussian of the two logits (at the issued point and at its
counterpart) is learnt. A suspect's log-likelihood under a kind is the sum over pairs; the score compares
the likeliest guilty kind with the likeliest innocent one. Pairs are not independent, so the score is no
likelihood: its distribution among innocents is learnt from further shadows.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cfmark.calibration.shadows import Answers

Array = NDArray[np.float64]
#: Probabilities are kept this far from 0 and 1 before their logits are taken.
EDGE = 1e-4
#: Added to each variance, in squared logits: a kind whose shadows all agree must not rule anything out.
RIDGE = 0.05


class Gaussians(NamedTuple):
    """One Gaussian a pair: means (n, 2), inverse covariances (n, 2, 2), log determinants (n,)."""

    mean: Array
    precision: Array
    log_determinant: Array


class Reference(NamedTuple):
    """What guilty and innocent shadows answer, by kind."""

    guilty: dict[str, Gaussians]
    innocent: dict[str, Gaussians]


def fit_reference(guilty: Mapping[str, Answers], innocent: Mapping[str, Answers]) -> Reference:
    """Learn the Gaussians of every kind from its shadows' answers (k, n, 2)."""
    return Reference(
        {kind: _gaussians(answers) for kind, answers in guilty.items()},
        {kind: _gaussians(answers) for kind, answers in innocent.items()},
    )


def ratio(reference: Reference, answers: Answers) -> Array:
    """Return the (k,) scores of k models by their answers (k, n, 2)."""
    z = _logits(answers)
    guilty = np.max([_log_likelihood(g, z) for g in reference.guilty.values()], axis=0)
    innocent = np.max([_log_likelihood(g, z) for g in reference.innocent.values()], axis=0)
    difference: Array = (guilty - innocent) / z.shape[1]
    return difference


def _gaussians(answers: Answers) -> Gaussians:
    z = _logits(answers)
    mean = z.mean(axis=0)
    centred = z - mean[None]
    covariance = np.einsum("kni,knj->nij", centred, centred) / (len(z) - 1) + RIDGE * np.eye(2)
    return Gaussians(mean, np.linalg.inv(covariance), np.linalg.slogdet(covariance)[1])


def _log_likelihood(gaussians: Gaussians, z: Array) -> Array:
    centred = z - gaussians.mean[None]
    distance = np.einsum("kni,nij,knj->kn", centred, gaussians.precision, centred)
    likelihood: Array = -0.5 * (distance + gaussians.log_determinant[None]).sum(axis=1)
    return likelihood


def _logits(answers: Answers) -> Array:
    p = np.clip(np.asarray(answers, np.float64), EDGE, 1 - EDGE)
    logits: Array = np.log(p) - np.log1p(-p)
    return logits
