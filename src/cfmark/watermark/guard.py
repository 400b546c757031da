"""No counterfactual that was valid leaves invalid: theta shrinks, row by row, until the served value is."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from cfmark.data import Encoder, Layout, Rules, project, rules_of
from cfmark.types import Classifier, FloatArray, IntArray, predict

#: The shares of theta that are tried, the largest first.
SHARES = tuple(float(s) for s in np.linspace(1, 0, 17)[:-1])


class Guarded(NamedTuple):
    """Marked rows (n, d) at served values, and the (n,) share of theta that each kept."""

    marked: FloatArray
    share: NDArray[np.float32]


def guard(
    encoder: Encoder,
    classifier: Classifier,
    x: FloatArray,
    cf: FloatArray,
    theta: FloatArray,
    target: IntArray,
    shares: tuple[float, ...] = SHARES,
) -> Guarded:
    """Return ``cf + share * theta`` on the served grid, with the largest share that keeps the target class.

    A row that keeps it with none of the shares stays ``cf``.
    """
    rules, layout = rules_of(encoder)
    marked, kept = cf.copy(), np.zeros(len(cf), np.float32)
    left = np.arange(len(cf))
    for share in shares:
        if not len(left):
            break
        tried = _served(rules, layout, x[left], cf[left] + np.float32(share) * theta[left])
        right = predict(classifier, tried) == target[left]
        marked[left[right]], kept[left[right]] = tried[right], share
        left = left[~right]
    return Guarded(marked, kept)


def serve(encoder: Encoder, x: FloatArray, candidates: FloatArray) -> FloatArray:
    """Return rows (n, d) at served values, with the schema's limits relative to the queries."""
    return _served(*rules_of(encoder), x, candidates)


def _served(rules: Rules, layout: Layout, x: FloatArray, candidates: FloatArray) -> FloatArray:
    size = 1 << max(4, (len(x) - 1).bit_length())
    filler = np.resize(np.arange(len(x)), size)
    rows = _project(rules, layout, jnp.asarray(x[filler]), jnp.asarray(candidates[filler]))
    return np.asarray(rows)[: len(x)]


def _project_rows(rules: Rules, layout: Layout, x: jax.Array, candidates: jax.Array) -> jax.Array:
    rows: jax.Array = jax.vmap(project, (None, None, 0, 0))(rules, layout, x, candidates)
    return rows


_project = jax.jit(_project_rows, static_argnums=1)
