"""Bring a counterfactual closer: undo the changes that are not needed, then walk back to the boundary."""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from cfmark.data import Layout, project
from cfmark.explainers.loop import Context, Phase, Run
from cfmark.types import FloatArray

#: A point is of the target class when the probability is above this: a hair past the boundary.
VALID = 0.5 + 1e-4
SPARSIFY_STEPS = 48
BISECT_STEPS = 9


class Static(Protocol):
    """What refining needs to know at compile time."""

    @property
    def layout(self) -> Layout:
        """The encoded columns."""
        ...


class Sparse(NamedTuple):
    """Rows (n, d), which of them are valid, and in which order (n, u) their changes are tried."""

    cf: jax.Array
    found: jax.Array
    turn: jax.Array
    step: jax.Array


class Segment(NamedTuple):
    """A search for the smallest valid share of the numeric change: (n,) bounds and best rows (n, d)."""

    end: jax.Array
    cf: jax.Array
    found: jax.Array
    low: jax.Array
    high: jax.Array


def refine(run: Run, static: Static, context: Context, cf: jax.Array, found: jax.Array) -> jax.Array:
    """Return rows (n, d) that are still valid where ``found``, with fewer and smaller changes."""
    cf = undo(run, static, context, cf, found)
    zero, one = jnp.zeros(cf.shape[0]), jnp.ones(cf.shape[0])
    segment = Segment(cf, cf, found, zero, one)
    refined: jax.Array = run(Phase(_halfway, _keep_closer, _any_found, BISECT_STEPS), segment).cf
    return refined


def undo(
    run: Run, static: Static, context: Context, cf: jax.Array, found: jax.Array, *, numbers: bool = True
) -> jax.Array:
    """Take back, smallest first, every feature's change that a row (n, d) can do without.

    With many features several are tried together; without ``numbers`` only categories are.
    """
    change = unit_change(static.layout, context.x, cf)
    first = 0 if numbers else static.layout.scalars
    count = change.shape[1] - first
    steps = min(count, SPARSIFY_STEPS)
    rank = jnp.argsort(jnp.argsort(change[:, first:], axis=1), axis=1)
    turn = jnp.pad(rank * steps // max(count, 1), ((0, 0), (first, 0)), constant_values=-1)
    sparse = Sparse(cf, found, turn, jnp.array(0))
    kept: jax.Array = run(Phase(_without, _keep_sparser, _any_found, steps), sparse).cf
    return kept


def distinct(refined: FloatArray, rough: FloatArray, times: int) -> FloatArray:
    """Return (n, m, d) rows, refined unless that repeats an earlier answer to the same query."""
    cf = refined.reshape(-1, times, refined.shape[-1]).copy()
    rough = rough.reshape(cf.shape)
    for j in range(1, times):
        again = (cf[:, :j] == cf[:, j, None]).all(axis=2).any(axis=1)
        cf[again, j] = rough[again, j]
    return cf


def unit_of_column(layout: Layout) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the (d,) number of the feature that each encoded column belongs to."""
    groups = [np.full(stop - start, layout.scalars + g) for g, (start, stop) in enumerate(layout.groups)]
    return np.concatenate([np.arange(layout.scalars), *groups]).astype(np.int64)


def unit_change(layout: Layout, x: jax.Array, cf: jax.Array) -> jax.Array:
    """Return (n, u): how much each feature changed, in L1."""
    moved = jnp.abs(cf - x)
    groups = [moved[:, start:stop].sum(axis=1, keepdims=True) for start, stop in layout.groups]
    return jnp.concatenate([moved[:, : layout.scalars], *groups], axis=1)


def closest(x: jax.Array, points: jax.Array, valid: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return (n,) which of the points (n, m, d) is valid and nearest to its query, and whether any is."""
    distance = jnp.abs(points - x[:, None, :]).sum(axis=2)
    return jnp.where(valid, distance, jnp.inf).argmin(axis=1), valid.any(axis=1)


def project_rows(layout: Layout, context: Context, candidates: jax.Array) -> jax.Array:
    """Project candidates (n, m, d) onto the schema relative to their queries (n, d)."""
    each = jax.vmap(project, (None, None, None, 0))
    rows: jax.Array = jax.vmap(each, (None, None, 0, 0))(context.rules, layout, context.x, candidates)
    return rows


def _without(static: Static, context: Context, state: Sparse) -> jax.Array:
    undo = (state.turn == state.step)[:, unit_of_column(static.layout)]
    return jnp.where(undo, context.x, state.cf)[:, None, :]


def _keep_sparser(static: Static, context: Context, state: Sparse, points: jax.Array, p: jax.Array) -> Sparse:
    better = (p[:, 0] > VALID) & state.found
    return state._replace(cf=jnp.where(better[:, None], points[:, 0], state.cf), step=state.step + 1)


def _halfway(static: Static, context: Context, state: Segment) -> jax.Array:
    share = 0.5 * (state.low + state.high)
    moved = context.x + share[:, None] * (state.end - context.x)
    scalar = (jnp.arange(moved.shape[1]) < static.layout.scalars)[None, :]
    return project_rows(static.layout, context, jnp.where(scalar, moved, state.end)[:, None, :])


def _keep_closer(
    static: Static, context: Context, state: Segment, points: jax.Array, p: jax.Array
) -> Segment:
    valid = (p[:, 0] > VALID) & state.found
    middle = 0.5 * (state.low + state.high)
    return state._replace(
        cf=jnp.where(valid[:, None], points[:, 0], state.cf),
        low=jnp.where(valid, state.low, middle),
        high=jnp.where(valid, middle, state.high),
    )


def _any_found(static: Static, context: Context, state: Sparse | Segment) -> jax.Array:
    return state.found
