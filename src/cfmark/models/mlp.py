"""The small network of the paper: dense layers with LeakyReLU and dropout, and a two-way softmax.

A network is a NamedTuple of arrays, so ``vmap`` over many of them is a matter of stacking.
"""

import math
from itertools import accumulate, pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp

from cfmark.models import bits

#: The two numbers that a network's last layer gives: class 0 and class 1.
CLASSES = 2
LEAK = 0.2


class Mlp(NamedTuple):
    """Weights (d_in, d_out) and biases (d_out,), layer by layer."""

    weights: tuple[jax.Array, ...]
    biases: tuple[jax.Array, ...]


def init(key: jax.Array, width: int, hidden: tuple[int, ...], outputs: int = CLASSES) -> Mlp:
    """Draw He-normal weights for ``width`` inputs, and zero biases."""
    sizes = (width, *hidden, outputs)
    shapes = list(pairwise(sizes))
    ends = list(accumulate(a * b for a, b in shapes))
    numbers = jnp.split(jax.random.normal(key, (ends[-1],)), ends[:-1])
    weights = tuple(
        part.reshape(shape) * math.sqrt(2 / shape[0]) for part, shape in zip(numbers, shapes, strict=True)
    )
    return Mlp(weights, tuple(jnp.zeros(b) for b in sizes[1:]))


def logits(mlp: Mlp, x: jax.Array) -> jax.Array:
    """Return the (..., outputs) numbers of the last layer for the rows ``x`` (..., d)."""
    hidden = x
    for weight, bias in zip(mlp.weights[:-1], mlp.biases[:-1], strict=True):
        hidden = _activate(_dense(hidden, weight, bias))
    return _dense(hidden, mlp.weights[-1], mlp.biases[-1])


def dropout_logits(key: jax.Array, mlp: Mlp, x: jax.Array, rate: float) -> jax.Array:
    """Return the logits of ``x`` (n, d) with hidden units dropped at ``rate``, for training.

    A hidden layer multiplies by a slope that no derivative runs through: 1 or the leak, over the share of
    units kept, or 0.
    """
    ends = list(accumulate(bias.shape[0] for bias in mlp.biases[:-1]))
    gone = jnp.split(bits.dropped(key, (x.shape[0], ends[-1]), rate), ends[:-1], axis=1)
    hidden = x
    for drop, weight, bias in zip(gone, mlp.weights[:-1], mlp.biases[:-1], strict=True):
        hidden = _dense(hidden, weight, bias)
        slope = jnp.where(drop, 0, jnp.where(hidden > 0, 1, LEAK) / (1 - rate))
        hidden = hidden * jax.lax.stop_gradient(slope)
    return _dense(hidden, mlp.weights[-1], mlp.biases[-1])


def _dense(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    product = x @ weight
    return product + jnp.broadcast_to(bias, product.shape)


def _activate(x: jax.Array) -> jax.Array:
    return jnp.where(x > 0, x, LEAK * x)
