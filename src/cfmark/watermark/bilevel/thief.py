"""The imagined extraction: K unrolled Adam steps of an ensemble on what a thief would have (Eq. 5 and 6)."""

from typing import Any, NamedTuple

import jax
import optax

from cfmark.models import mlp
from cfmark.watermark.bilevel.gradient import Rows, Sizes, loss_gradient, pack

#: Keeps the square root's derivative finite where a weight's gradient is exactly zero (an all-zero column).
EPS_ROOT = 1e-10


class Thieves(NamedTuple):
    """An ensemble in training: its packed weights (e, p), and Adam's state."""

    weights: jax.Array
    optimiser: Any


def start(key: jax.Array, members: int, sizes: Sizes) -> Thieves:
    """Return an ensemble of untrained networks."""
    keys = jax.random.split(key, members)
    weights = pack(jax.vmap(lambda k: mlp.init(k, sizes[0], sizes[1:-1], sizes[-1]))(keys))
    return Thieves(weights, _adam(0.0).init(weights))


def unroll(thieves: Thieves, rows: Rows, sizes: Sizes, steps: int, learning_rate: float) -> Thieves:
    """Return the ensemble after ``steps`` Adam steps, each on all rows; differentiable in the rows."""
    adam = _adam(learning_rate)

    def step(thieves: Thieves, _: None) -> tuple[Thieves, None]:
        gradient = loss_gradient(sizes, thieves.weights, rows)
        updates, optimiser = adam.update(gradient, thieves.optimiser)
        return Thieves(optax.apply_updates(thieves.weights, updates), optimiser), None

    return jax.lax.scan(step, thieves, None, length=steps)[0]


def _adam(learning_rate: float) -> optax.GradientTransformation:
    return optax.adam(learning_rate, eps_root=EPS_ROOT)
