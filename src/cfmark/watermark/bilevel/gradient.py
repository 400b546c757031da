"""The gradient of a network's loss, and that gradient's own derivative, written out.

Nearly all the time of an embedding is spent here, so the shapes are chosen for speed: one network at a time,
whose numbers stay in the core's own cache, features before rows, and weights and biases as one array (p,), so
that Adam is a single pass.

With h_0 = x (d, n), z_l = W_l' h_l + b_l and h_(l+1) = a(z_l) for a LeakyReLU a, the cross-entropy L of soft
labels y (2, n) under row weights c (n,) has the gradient

    D_last = c (p - y),  p = softmax(z_last),      D_(l-1) = a'(z_(l-1)) * W_l D_l,
    by W_l = h_l D_l',                             by b_l = D_l 1.

The gradient through K Adam steps asks for more: for a direction v = (V, v_b) in the weights, the derivatives
of <v, gradient of L>. By the weights it is the Hessian times v, which is the derivative of the gradient along
v. With a tilde for derivatives along v, and since a'' = 0,

    z~_l = V_l' h_l + v_b_l + W_l' h~_l,           h~_(l+1) = a'(z_l) * z~_l,  h~_0 = 0
    D~_last = c p (z~_last - p . z~_last),         D~_(l-1) = a'(z_(l-1)) * (W_l D~_l + V_l D_l),
    by W_l = h_l D~_l' + h~_l D_l',                by b_l = D~_l 1,
    by x = W_0 D~_0 + V_0 D_0,                     by y = -c z~_last   (a label's two numbers sum to 1).
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
    """One pass forward and back: the input and the error of every layer, and the answers (2, n)."""

    inputs: list[jax.Array]
    errors: list[jax.Array]
    answers: jax.Array


def pack(network: mlp.Mlp) -> jax.Array:
    """Return a network's numbers as one array (p,)."""
    return jnp.concatenate([part.reshape(-1) for part in (*network.weights, *network.biases)])


def unpack(flat: jax.Array, sizes: Sizes) -> mlp.Mlp:
    """Return the network whose numbers are (p,)."""
    shapes = [*pairwise(sizes), *((size,) for size in sizes[1:])]
    parts, start = [], 0
    for shape in shapes:
        parts.append(flat[start : start + math.prod(shape)].reshape(shape))
        start += math.prod(shape)
    layers = len(sizes) - 1
    return mlp.Mlp(tuple(parts[:layers]), tuple(parts[layers:]))


def answers(sizes: Sizes, flat: jax.Array, x: jax.Array) -> jax.Array:
    """Return the log-probabilities (2, n) that a network gives to the rows ``x`` (d, n)."""
    return jax.nn.log_softmax(_forward(unpack(flat, sizes), x)[1], axis=0)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def loss_gradient(sizes: Sizes, flat: jax.Array, rows: Rows) -> jax.Array:
    """Return the gradient (p,) of a network's cross-entropy on the rows."""
    return _gradient(_both_ways(unpack(flat, sizes), rows))


def _keep(sizes: Sizes, flat: jax.Array, rows: Rows) -> tuple[jax.Array, tuple[jax.Array, Rows, _Pass]]:
    passed = _both_ways(unpack(flat, sizes), rows)
    return _gradient(passed), (flat, rows, passed)


def _derivative(sizes: Sizes, kept: tuple[jax.Array, Rows, _Pass], v: jax.Array) -> tuple[jax.Array, Rows]:
    """Return the derivatives of <v, gradient> by the weights and by the rows (0 for ``weight``)."""
    flat, rows, (inputs, errors, p) = kept
    network, along = unpack(flat, sizes), unpack(v, sizes)
    last = len(inputs) - 1
    z = _layer(along, 0, inputs[0])
    moved = []
    for layer in range(last):
        moved.append(_slope(inputs[layer + 1]) * z)
        z = _layer(along, layer + 1, inputs[layer + 1]) + network.weights[layer + 1].T @ moved[layer]
    error = rows.weight[None, :] * p * (z - (p * z).sum(axis=0, keepdims=True))
    by_weights, by_biases = [], []
    for layer in range(last, 0, -1):
        by_weights.append(inputs[layer] @ error.T + moved[layer - 1] @ errors[layer].T)
        by_biases.append(error.sum(axis=1))
        back = network.weights[layer] @ error + along.weights[layer] @ errors[layer]
        error = _slope(inputs[layer]) * back
    by_weights.append(inputs[0] @ error.T)
    by_biases.append(error.sum(axis=1))
    by_x = network.weights[0] @ error + along.weights[0] @ errors[0]
    by_flat = pack(mlp.Mlp(tuple(by_weights[::-1]), tuple(by_biases[::-1])))
    return by_flat, Rows(by_x, -rows.weight[None, :] * z, jnp.zeros_like(rows.weight))


loss_gradient.defvjp(_keep, _derivative)


def _forward(network: mlp.Mlp, x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """Return the input of every layer, and the last layer's output (2, n)."""
    inputs = [x]
    for layer in range(len(network.weights) - 1):
        z = _layer(network, layer, inputs[layer])
        inputs.append(jnp.where(z > 0, z, mlp.LEAK * z))
    return inputs, _layer(network, len(inputs) - 1, inputs[-1])


def _both_ways(network: mlp.Mlp, rows: Rows) -> _Pass:
    inputs, z = _forward(network, rows.x)
    p = jax.nn.softmax(z, axis=0)
    errors = [rows.weight[None, :] * (p - rows.y)]
    for layer in range(len(inputs) - 1, 0, -1):
        errors.append(_slope(inputs[layer]) * (network.weights[layer] @ errors[-1]))
    return _Pass(inputs, errors[::-1], p)


def _gradient(passed: _Pass) -> jax.Array:
    by_weights = tuple(h @ error.T for h, error in zip(passed.inputs, passed.errors, strict=True))
    return pack(mlp.Mlp(by_weights, tuple(error.sum(axis=1) for error in passed.errors)))


def _layer(network: mlp.Mlp, layer: int, inputs: jax.Array) -> jax.Array:
    return network.weights[layer].T @ inputs + network.biases[layer][:, None]


def _slope(activated: jax.Array) -> jax.Array:
    """Return a'(z) for a(z), which has the sign of z."""
    return jnp.where(activated > 0, 1, mlp.LEAK)
