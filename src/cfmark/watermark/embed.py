"""``embed``: mark counterfactuals with any scheme, and never make a valid one invalid."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from cfmark.data import Dataset
from cfmark.models import JaxClassifier, distil
from cfmark.types import Classifier, Explanations, FloatArray, MarkedExplanations
from cfmark.watermark.baselines import RandomConfig, random_theta
from cfmark.watermark.bilevel import BilevelConfig, Curves, Table, theta_of
from cfmark.watermark.guard import guard

EmbedConfig = BilevelConfig | RandomConfig


class EmbedInfo(NamedTuple):
    """What a curious person wants to know of an embedding.

    Attributes
    ----------
    curves
        The loss curves of each batch (none for schemes that do not optimise).
    share
        (n, m) the share of theta that the guard let through; 0 where the answer stays unmarked.
    """

    curves: list[Curves]
    share: FloatArray


def embed(
    key: jax.Array,
    explanations: Explanations,
    classifier: Classifier,
    dataset: Dataset,
    config: EmbedConfig | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[MarkedExplanations, EmbedInfo]:
    """Mark counterfactuals.

    Parameters
    ----------
    key
        Decides everything that is random.
    explanations
        What ``explain`` returned.
    classifier
        The model that was explained; one without gradients is distilled for ``bilevel``.
    dataset
        The owner's data.
    config
        Which scheme, and its knobs.
    progress
        Called with the number of counterfactuals marked after each batch.
    """
    config = config or BilevelConfig()
    x, cf, found, target = explanations
    n, m, d = cf.shape
    rows = np.flatnonzero(found.reshape(-1))
    queries, flat = np.repeat(x, m, axis=0)[rows], cf.reshape(n * m, d)[rows]
    classes = np.repeat(target, m)[rows]
    marked, share = cf.reshape(n * m, d).copy(), np.zeros(n * m, np.float32)
    curves: list[Curves] = []
    if len(rows):
        key_theta, key_distil = jax.random.split(key)
        if isinstance(config, RandomConfig):
            theta = random_theta(key_theta, flat, len(dataset.encoder.scalars), config)
        else:
            traced = (
                classifier
                if isinstance(classifier, JaxClassifier)
                else distil(key_distil, classifier, dataset)[0]
            )
            theta, curves = theta_of(
                key_theta, dataset, traced, Table(queries, flat, classes), config, progress
            )
        guarded = guard(dataset.encoder, classifier, queries, flat, theta, classes)
        marked[rows], share[rows] = guarded
    issued = marked.reshape(n, m, d)
    paired = found & (issued != cf).any(axis=2)
    return MarkedExplanations(x, issued, cf, found, paired, target), EmbedInfo(curves, share.reshape(n, m))
