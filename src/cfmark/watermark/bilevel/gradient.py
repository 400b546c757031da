"""The gradient of an ensemble's loss, and that gradient's own derivative, written out.

Nearly all the time of an embedding is spent here, so the shapes are chosen for speed: all networks at once,
and features before rows. ``x`` is (d, n), a hidden layer (e, units, n), and the weights and biases of a
network are one row of (e, p), so that Adam is a single pass over one array.

With h_0 = x, z_l = W_l' h_l + b_l and h_(l+1) = a(z_l) for a LeakyReLU a, the cross-entropy L of soft labels
y under row weights c has the gradient

    D_last = c (p - y),  p = softmax(z_last),      D_(l-1) = a'(z_(l-1)) * W_l D_l,
    by W_l = h_l D_l',                             by b_l = D_l 1.

The gradient through K Adam steps asks for more: for a direction v = (V, v_b) in the weights, the derivatives
of <v, gradient of L>. By the weights it is the Hessian times v, which is the derivative of the gradient along
v. With a second dash for derivatives along v, and since a'' = 0,

    z'_l = V_l' h_l + v_b_l + W_l' h'_l,           h'_(l+1) = a'(z_l) * z'_l,  h'_0 = 0
    D'_last = c p (z'_last - p . z'_last),         D'_(l-1) = a'(z_(l-1)) * (W_l D'_l + V_l D_l),
    by W_l = h_l D'_l' + h'_l D_l',                by b_l = D'_l 1,
    by x = W_0 D'_0 + V_0 D_0,                     by y = -c z'_last.

(y sums to 1 in each row.) h and D are computed again there rather than kept: that is cheaper than moving them
through memory.
"""

import math
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp

from cfmark.models import mlp

#: Units of every layer: inputs, hidden layers, outputs.
Sizes = tuple[int, ...]


class Rows(NamedTuple):
    """What a network learns from: rows (d, n), soft labels (2, n), and weights (n,)."""

    x: jax.Array
    y: jax.Array
    weight: jax.Array


class _Pass(NamedTuple):
    """One pass forward and back: the input and the error of every layer, and the answers (e, 2, n)."""

    inputs: list[jax.Array]
    errors: list[jax.Array]
    answers: jax.Array


def pack(networks: mlp.Mlp) -> jax.Array:
    """Return stacked networks as rows of numbers (e, p)."""
    parts = [*networks.weights, *networks.biases]
    return jnp.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def unpack(flat: jax.Array, sizes: Sizes) -> mlp.Mlp:
    """Return rows of numbers (e, p) as stacked networks."""
    shapes = [*pairwise(sizes), *((size,) for size in sizes[1:])]
    ends = [0]
    parts = []
    for shape in shapes:
        ends.append(ends[-1] + math.prod(shape))
        parts.append(flat[:, ends[-2] : ends[-1]].reshape(-1, *shape))
    layers = len(sizes) - 1
    return mlp.Mlp(tuple(parts[:layers]), tuple(parts[layers:]))


def answers(networks: mlp.Mlp, x: jax.Array) -> jax.Array:
    """Return the log-probabilities (e, 2, n) that stacked networks give to the rows ``x`` (d, n)."""
    return jax.nn.log_softmax(_forward(networks, x)[1], axis=1)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def loss_gradient(sizes: Sizes, flat: jax.Array, rows: Rows) -> jax.Array:
    """Return the gradient (e, p) of each network's cross-entropy on the rows."""
    inputs, errors, _ = _both_ways(unpack(flat, sizes), rows)
    by_weights = tuple(_outer(h, error) for h, error in zip(inputs, errors, strict=True))
    return pack(mlp.Mlp(by_weights, tuple(error.sum(axis=2) for error in errors)))


def _loss_gradient(sizes: Sizes, flat: jax.Array, rows: Rows) -> tuple[jax.Array, tuple[jax.Array, Rows]]:
    return loss_gradient(sizes, flat, rows), (flat, rows)


def _derivative(sizes: Sizes, state: tuple[jax.Array, Rows], v: jax.Array) -> tuple[jax.Array, Rows]:
    """Return the derivatives of <v, gradient> by the weights and by the rows (0 for ``weight``)."""
    flat, rows = state
    networks, along = unpack(flat, sizes), unpack(v, sizes)
    inputs, errors, p = _both_ways(networks, rows)
    last = len(inputs) - 1
    z = _layer(along, 0, inputs[0])
    moved = []
    for layer in range(last):
        moved.append(_slope(inputs[layer + 1]) * z)
        z = _layer(along, layer + 1, inputs[layer + 1]) + _times(networks.weights[layer + 1], moved[layer])
    error = rows.weight[None, None, :] * p * (z - (p * z).sum(axis=1, keepdims=True))
    by_weights, by_biases = [], []
    for layer in range(last, 0, -1):
        by_weights.append(_outer(inputs[layer], error) + _outer(moved[layer - 1], errors[layer]))
        by_biases.append(error.sum(axis=2))
        back = _back(networks.weights[layer], error) + _back(along.weights[layer], errors[layer])
        error = _slope(inputs[layer]) * back
    by_weights.append(_outer(inputs[0], error))
    by_biases.append(error.sum(axis=2))
    by_x = _to_rows(networks.weights[0], error) + _to_rows(along.weights[0], errors[0])
    by_y = -rows.weight[None, :] * z.sum(axis=0)
    by_flat = pack(mlp.Mlp(tuple(by_weights[::-1]), tuple(by_biases[::-1])))
    return by_flat, Rows(by_x, by_y, jnp.zeros_like(rows.weight))


loss_gradient.defvjp(_loss_gradient, _derivative)


def _forward(networks: mlp.Mlp, x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """Return the input of every layer, and the last layer's output (e, 2, n)."""
    inputs = [x]
    for layer in range(len(networks.weights) - 1):
        z = _layer(networks, layer, inputs[layer])
        inputs.append(jnp.where(z > 0, z, mlp.LEAK * z))
    return inputs, _layer(networks, len(inputs) - 1, inputs[-1])


def _both_ways(networks: mlp.Mlp, rows: Rows) -> _Pass:
    inputs, z = _forward(networks, rows.x)
    p = jax.nn.softmax(z, axis=1)
    errors = [rows.weight[None, None, :] * (p - rows.y[None])]
    for layer in range(len(inputs) - 1, 0, -1):
        errors.append(_slope(inputs[layer]) * _back(networks.weights[layer], errors[-1]))
    return _Pass(inputs, errors[::-1], p)


def _slope(activated: jax.Array) -> jax.Array:
    """Return a'(z) for a(z), which has the sign of z."""
    return jnp.where(activated > 0, 1, mlp.LEAK)


def _layer(networks: mlp.Mlp, layer: int, inputs: jax.Array) -> jax.Array:
    return _times(networks.weights[layer], inputs) + networks.biases[layer][:, :, None]


def _times(weight: jax.Array, inputs: jax.Array) -> jax.Array:
    return jnp.einsum("eio,ir->eor" if inputs.ndim == 2 else "eio,eir->eor", weight, inputs)


def _back(weight: jax.Array, error: jax.Array) -> jax.Array:
    return jnp.einsum("eio,eor->eir", weight, error)


def _outer(inputs: jax.Array, error: jax.Array) -> jax.Array:
    return jnp.einsum("ir,eor->eio" if inputs.ndim == 2 else "eir,eor->eio", inputs, error)


def _to_rows(weight: jax.Array, error: jax.Array) -> jax.Array:
    return jnp.einsum("eio,eor->ir", weight, error)
