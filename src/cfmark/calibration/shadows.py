"""Shadow suspects: models of every kind, trained as a suspect would be, on the very pairs under test.

A shadow differs from the suspect in its training seed alone: it learns from the same queries and the same
issued counterfactuals, which the owner knows. Shadows on other rows are off by a standard deviation. Only a
kind whose rows the owner cannot know (true labels) has a transcript for each shadow.
"""

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from cfmark.attacks import NETWORKS, extract_many, train_config, train_networks
from cfmark.models import mlp
from cfmark.types import FloatArray, IntArray, MarkedExplanations, Transcript
from cfmark.verification import paired_points

#: Models that are trained before there is progress to tell.
GROUP = 50
#: (k, n, 2) probabilities of the target class at issued points and at their counterparts, for k models.
Answers = NDArray[np.float64]
#: What the shadows of a kind learn from: all the same, or each its own.
Learnt = Transcript | Sequence[Transcript]


def shadows(
    key: jax.Array,
    transcripts: Mapping[str, Learnt],
    pairs: MarkedExplanations,
    count: int,
    family: str = "mlp",
    progress: Callable[[int], None] | None = None,
) -> dict[str, Answers]:
    """Train ``count`` models of each kind and return their answers at the pairs.

    ``progress`` is called with the number of models that were trained, group by group.
    """
    keys = jax.random.split(key, max(len(transcripts), 1))
    return {
        kind: models_answers(k, learnt, pairs, count, family, progress)
        for k, (kind, learnt) in zip(keys, transcripts.items(), strict=False)
    }


def models_answers(
    key: jax.Array,
    learnt: Learnt,
    pairs: MarkedExplanations,
    count: int,
    family: str = "mlp",
    progress: Callable[[int], None] | None = None,
) -> Answers:
    """Train ``count`` models and return their (count, n, 2) answers at the pairs.

    They all learn from the one transcript, or from the transcripts of a list in turn.
    """
    issued, counterpart, target = paired_points(pairs)
    points, classes = np.concatenate([issued, counterpart]), np.tile(target, 2)
    p: list[FloatArray] = []
    for keys, rows in _groups(key, learnt, count):
        p.append(_group(keys, rows, points, classes, family))
        if progress:
            progress(len(keys))
    both = np.concatenate(p)[:count]
    return np.stack([both[:, : len(target)], both[:, len(target) :]], axis=2).astype(np.float64)


def _groups(key: jax.Array, learnt: Learnt, count: int) -> list[tuple[jax.Array, list[Transcript]]]:
    """Return keys and transcripts in groups, after each of which there is progress to tell."""
    each = [learnt] if isinstance(learnt, Transcript) else list(learnt)
    keys = jax.random.split(key, count)
    ends = [(start, min(start + GROUP, count)) for start in range(0, count, GROUP)]
    return [(keys[a:b], [each[i % len(each)] for i in range(a, b)]) for a, b in ends]


def _group(
    keys: jax.Array, transcripts: list[Transcript], points: FloatArray, target: IntArray, family: str
) -> FloatArray:
    """Return (k, r) probabilities of the points' classes."""
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
