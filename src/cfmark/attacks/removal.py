"""What a thief does to lose a mark: to its network afterwards, or to its transcript before it trains.

The paper tries the first two on networks: fine-tuning on clean labelled data, and magnitude pruning. The
other three change the counterfactuals of a transcript, in numbers only: a category stays one-hot. No label
is asked for again. ``scalars`` is the number of scalar columns, which come first (``len(encoder.scalars)``).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from cfmark.attacks.extraction import QUERY, query
from cfmark.attacks.innocents import true_labels
from cfmark.attacks.thieves import train_config, train_networks
from cfmark.errors import ConfigError
from cfmark.models import mlp
from cfmark.types import BoolArray, FloatArray, IntArray, Oracle, Transcript

Clean = Literal["answers", "true"]


def clean(labels: Clean, oracle: Oracle, x: FloatArray, y: IntArray) -> Transcript:
    """Return clean labelled data, for fine-tuning: the attacker's own rows (n, d), no counterfactual.

    ``answers``: labelled by the service. The paper leaves the labels open, and its attacker has no others.
    ``true``: the true classes (n,), as in the works on fine-tuning that the paper cites.
    """
    if labels == "answers":
        return query(oracle, x)
    if labels != "true":
        raise ConfigError(f"clean labels {labels!r} are neither answers nor true")
    return true_labels(x, y)


def finetune(
    keys: jax.Array,
    networks: mlp.Mlp,
    transcripts: Sequence[Transcript],
    epochs: int,
    family: str = "mlp",
) -> mlp.Mlp:
    """Train stacked networks (k, ...) on, each on clean data of its own, as they were trained before."""
    if epochs < 0:
        raise ConfigError(f"epochs = {epochs}: must not be negative")
    if epochs == 0:
        return networks
    return train_networks(keys, transcripts, replace(train_config(family), epochs=epochs), networks)


def prune(networks: mlp.Mlp, rate: float) -> mlp.Mlp:
    """Set the share ``rate`` of each network's weights to zero, the smallest first; biases are kept.

    All layers of a network (k, ...) are ranked together: global magnitude pruning.
    """
    if not 0 <= rate <= 1:
        raise ConfigError(f"rate = {rate}: a share from 0 to 1")
    weights = [np.asarray(weight) for weight in networks.weights]
    flat = np.concatenate([weight.reshape(len(weight), -1) for weight in weights], axis=1)
    gone = np.argsort(np.abs(flat), axis=1, kind="stable")[:, : round(rate * flat.shape[1])]
    np.put_along_axis(flat, gone, 0, axis=1)
    ends = np.cumsum([weight[0].size for weight in weights])[:-1]
    parts = [
        jnp.asarray(part.reshape(weight.shape))
        for part, weight in zip(np.split(flat, ends, axis=1), weights, strict=True)
    ]
    return networks._replace(weights=tuple(parts))


def noise(key: jax.Array, transcript: Transcript, size: float, scalars: int) -> Transcript:
    """Move every number of a counterfactual by chance, at most by ``size``, within [0, 1]."""
    if not size >= 0:
        raise ConfigError(f"size = {size}: must not be negative")
    moves = np.asarray(jax.random.uniform(key, transcript.x.shape, minval=-size, maxval=size))
    return _changed(transcript, transcript.x + moves, scalars)


def rounding(transcript: Transcript, step: float, scalars: int) -> Transcript:
    """Round every number of a counterfactual to a multiple of ``step``, in encoded units, within [0, 1]."""
    if not 0 < step <= 1:
        raise ConfigError(f"step = {step}: must be above 0 and at most 1")
    last = np.floor(1 / step + 1e-6)
    return _changed(transcript, np.minimum(np.rint(transcript.x / step), last) * step, scalars)


def averaging(transcript: Transcript, count: int, scalars: int) -> Transcript:
    """Put the mean of ``count`` counterfactuals in the place of each: itself and its nearest.

    Those of the same query come first (several answers to it), then those of other queries. Only
    counterfactuals of one kind and class are mixed, numbers and labels; categories stay its own.
    """
    if count < 1:
        raise ConfigError(f"count = {count}: must be at least 1")
    x, y = transcript.x.copy(), transcript.y.copy()
    classes = transcript.y[:, 1] > transcript.y[:, 0]
    group = np.where(transcript.kind == QUERY, -1, 2 * transcript.kind + classes)
    for number in set(group[group >= 0].tolist()):
        rows = np.flatnonzero(group == number)
        near = rows[_nearest(transcript.x[rows, :scalars], transcript.source[rows], count)]
        x[rows], y[rows] = transcript.x[near].mean(axis=1), transcript.y[near].mean(axis=1)
    return _changed(transcript._replace(y=y), x, scalars)


def _nearest(points: FloatArray, source: IntArray, count: int) -> IntArray:
    """Return (r, count) row numbers, fewer where there are fewer rows: itself, its query's, the nearest."""
    distance = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    distance += np.where(source[:, None] == source[None], 0, points.shape[1] + 1)
    np.fill_diagonal(distance, -1)
    nearest: IntArray = np.argsort(distance, axis=1, kind="stable")[:, :count]
    return nearest


def _changed(transcript: Transcript, x: FloatArray, scalars: int) -> Transcript:
    """Return the transcript with other numbers in its counterfactuals."""
    moved: BoolArray = transcript.kind != QUERY
    numbers = np.arange(x.shape[1]) < scalars
    x = np.where(moved[:, None] & numbers[None], np.clip(x, 0, 1), transcript.x)
    return transcript._replace(x=x.astype(np.float32))
