"""The three differences that Eq. 4 is made of: poison, validity and regularisation take one each.

Each compares a model's log-probabilities at marked and at unmarked points, (2, n) both, and gives (n,).
"""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp

Form = Literal["log", "kl", "residual"]


def difference(form: Form, marked: jax.Array, unmarked: jax.Array, target: jax.Array) -> jax.Array:
    """Return how much a model prefers the marked points, in the form asked for.

    ``log``: log f(cf + theta) - log f(cf) for the target class; ``kl``: KL(f(cf + theta) || f(cf)) over both
    classes; ``residual``: f(cf + theta) - f(cf) for the target class.
    """
    return _FORMS[form](marked, unmarked, target)


def _of_target(log_probabilities: jax.Array, target: jax.Array) -> jax.Array:
    return jnp.where(target == 1, log_probabilities[1], log_probabilities[0])


def _log(marked: jax.Array, unmarked: jax.Array, target: jax.Array) -> jax.Array:
    return _of_target(marked, target) - _of_target(unmarked, target)


def _kl(marked: jax.Array, unmarked: jax.Array, target: jax.Array) -> jax.Array:
    del target
    return (jnp.exp(marked) * (marked - unmarked)).sum(axis=0)


def _residual(marked: jax.Array, unmarked: jax.Array, target: jax.Array) -> jax.Array:
    return jnp.exp(_of_target(marked, target)) - jnp.exp(_of_target(unmarked, target))


_FORMS: dict[Form, Callable[[jax.Array, jax.Array, jax.Array], jax.Array]] = {
    "log": _log,
    "kl": _kl,
    "residual": _residual,
}
