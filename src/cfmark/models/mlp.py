"""The small network of the paper: dense layers with LeakyReLU and dropout, and a two-way softmax.

A network is a NamedTuple of arrays, so ``vmap`` over many of them is a matter of stacking.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

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
    keys = jax.random.split(key, len(sizes) - 1)
    weights = tuple(
        jax.random.normal(k, (a, b)) * math.sqrt(2 / a)
        for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True)
    )
    return Mlp(weights, tuple(jnp.zeros(b) for b in sizes[1:]))


def logits(mlp: Mlp, x: jax.Array) -> jax.Array:
    """Return the (..., outputs) numbers of the last layer for the rows ``x`` (..., d)."""
    hidden = x
    for weight, bias in zip(mlp.weights[:-1], mlp.biases[:-1], strict=True):
        hidden = _activate(_dense(hidden, weight, bias))
    return _dense(hidden, mlp.weights[-1], mlp.biases[-1])


def dropout_logits(key: jax.Array, mlp: Mlp, x: jax.Array, rate: float) -> jax.Array:
    """Return the logits of ``x`` (n, d) with hidden units dropped at ``rate``, for training."""
    hidden = x
    keys = jax.random.split(key, len(mlp.weights))
    for k, weight, bias in zip(keys[:-1], mlp.weights[:-1], mlp.biases[:-1], strict=True):
        hidden = _activate(_dense(hidden, weight, bias))
        kept = jax.random.bernoulli(k, 1 - rate, hidden.shape)
        hidden = jnp.where(kept, hidden / (1 - rate), 0)
    return _dense(hidden, mlp.weights[-1], mlp.biases[-1])


def _dense(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    product = x @ weight
    return product + jnp.broadcast_to(bias, product.shape)


def _activate(x: jax.Array) -> jax.Array:
    return jnp.where(x > 0, x, LEAK * x)
