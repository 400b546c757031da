"""The imagined extraction: K unrolled Adam steps of a network on what a thief would have (Eq. 5 and 6)."""

from typing import Any, NamedTuple

import jax
import optax

from cfmark.models import mlp
from cfmark.watermark.bilevel.gradient import Rows, Sizes, loss_gradient, pack

#: Keeps the square root's derivative finite where a weight's gradient is exactly zero (an all-zero column).
EPS_ROOT = 1e-10


class Thief(NamedTuple):
    """A network in training: its numbers (p,), and Adam's state."""

    network: jax.Array
    optimiser: Any


def start(key: jax.Array, members: int, sizes: Sizes) -> Thief:
    """Return an ensemble of untrained networks, stacked."""

    def one(key: jax.Array) -> Thief:
        network = pack(mlp.init(key, sizes[0], sizes[1:-1], sizes[-1]))
        return Thief(network, _adam(0.0).init(network))

    return jax.vmap(one)(jax.random.split(key, members))


def unroll(thief: Thief, rows: Rows, sizes: Sizes, steps: int, learning_rate: float) -> Thief:
    """Return one network after ``steps`` Adam steps, each on all rows; differentiable in the rows."""
    adam = _adam(learning_rate)

    def step(thief: Thief, _: None) -> tuple[Thief, None]:
        gradient = loss_gradient(sizes, thief.network, rows)
        updates, optimiser = adam.update(gradient, thief.optimiser)
        return Thief(optax.apply_updates(thief.network, updates), optimiser), None

    return jax.lax.scan(step, thief, None, length=steps)[0]


def _adam(learning_rate: float) -> optax.GradientTransformation:
    return optax.adam(learning_rate, eps_root=EPS_ROOT)
