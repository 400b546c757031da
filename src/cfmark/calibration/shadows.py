"""Shadow suspects: models of every kind, trained as a suspect would be, on the very pairs under test.

A shadow differs from the suspect in its training seed alone: it learns from the same queries and the same
issued counterfactuals, which the owner knows. Shadows on other rows are off by a standard deviation.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from cfmark.attacks import NETWORKS, extract_many, train_config, train_networks
from cfmark.models import mlp
from cfmark.types import FloatArray, IntArray, MarkedExplanations, Transcript
from cfmark.verification import paired_points

#: Networks that are trained at once, so that every training has one of few compiled shapes.
GROUP = 50
#: (k, n, 2) probabilities of the target class at issued points and at their counterparts, for k models.
Answers = NDArray[np.float64]


def shadows(
    key: jax.Array,
    transcripts: Mapping[str, Transcript],
    pairs: MarkedExplanations,
    count: int,
    family: str = "mlp",
) -> dict[str, Answers]:
    """Train ``count`` models on each transcript and return their answers at the pairs."""
    keys = jax.random.split(key, len(transcripts))
    return {
        kind: models_answers(k, transcript, pairs, count, family)
        for k, (kind, transcript) in zip(keys, transcripts.items(), strict=True)
    }


def models_answers(
    key: jax.Array, transcript: Transcript, pairs: MarkedExplanations, count: int, family: str = "mlp"
) -> Answers:
    """Train ``count`` models on one transcript: their (count, n, 2) answers at the pairs."""
    issued, counterpart, target = paired_points(pairs)
    points = np.concatenate([issued, counterpart])
    keys = (
        jax.random.split(key, -(-count // GROUP) * GROUP)
        if family in NETWORKS
        else jax.random.split(key, count)
    )
    groups = [keys[i : i + GROUP] for i in range(0, len(keys), GROUP)]
    p = np.concatenate([_group(group, transcript, points, np.tile(target, 2), family) for group in groups])
    return np.stack([p[:count, : len(target)], p[:count, len(target) :]], axis=2).astype(np.float64)


def _group(
    keys: jax.Array, transcript: Transcript, points: FloatArray, target: IntArray, family: str
) -> FloatArray:
    """Return (k, r) probabilities of the points' classes."""
    transcripts = [transcript] * len(keys)
    if family in NETWORKS:
        networks = train_networks(keys, transcripts, train_config(family))
        return np.asarray(_of_target(networks, points, target))
    models = extract_many(keys, transcripts, family)
    rows = np.arange(len(target))
    return np.stack([model.predict_proba(points)[rows, target] for model in models])


@jax.jit
def _of_target(networks: mlp.Mlp, points: jax.Array, target: jax.Array) -> jax.Array:
    logits = jax.vmap(mlp.logits, (0, None))(networks, points)
    gap = logits[:, :, 1] - logits[:, :, 0]
    return jax.nn.sigmoid(jnp.where(target[None, :] == 1, gap, -gap))
