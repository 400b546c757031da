"""The imagined extraction: K unrolled Adam steps of a network on what a thief would have (Eq. 5 and 6)."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from cfmark.models import mlp

#: Keeps the square root's derivative finite where a weight's gradient is exactly zero (an all-zero column).
EPS_ROOT = 1e-10


class Thief(NamedTuple):
    """A network in training: its weights and Adam's state."""

    network: mlp.Mlp
    optimiser: Any


class Rows(NamedTuple):
    """What it learns from: rows (n, d), soft labels (n, 2), weights (n,)."""

    x: jax.Array
    y: jax.Array
    weight: jax.Array


def start(keys: jax.Array, width: int, hidden: tuple[int, ...], learning_rate: float) -> Thief:
    """Return an ensemble of untrained networks, one for each key."""
    network = jax.vmap(lambda key: mlp.init(key, width, hidden))(keys)
    return Thief(network, jax.vmap(_adam(learning_rate).init)(network))


def unroll(thief: Thief, rows: Rows, steps: int, learning_rate: float) -> Thief:
    """Return one network after ``steps`` Adam steps on all rows at once; differentiable in the rows."""
    adam = _adam(learning_rate)

    def step(thief: Thief, _: None) -> tuple[Thief, None]:
        gradient = jax.grad(_loss)(thief.network, rows)
        updates, optimiser = adam.update(gradient, thief.optimiser)
        return Thief(optax.apply_updates(thief.network, updates), optimiser), None

    trained, _ = jax.lax.scan(step, thief, None, length=steps)
    return trained


def join(*parts: Rows) -> Rows:
    """Put rows together."""
    return Rows(*(jnp.concatenate(columns) for columns in zip(*parts, strict=True)))


def _adam(learning_rate: float) -> optax.GradientTransformation:
    return optax.adam(learning_rate, eps_root=EPS_ROOT)


def _loss(network: mlp.Mlp, rows: Rows) -> jax.Array:
    cross_entropy = -(rows.y * jax.nn.log_softmax(mlp.logits(network, rows.x))).sum(axis=1)
    return (rows.weight * cross_entropy).sum() / rows.weight.sum()
