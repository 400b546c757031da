"""Project any array onto the schema relative to the query, and tell what may move. Pure JAX, row by row.

Every function takes a single row; callers ``vmap``. The group layout is static (it shapes the compiled
program), all numbers are arrays (so data sets of one shape share a compilation).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cfmark.data.encoder import Encoder


class Layout(NamedTuple):
    """What shapes the compiled program: number of scalar columns, and the one-hot groups' edges."""

    scalars: int
    groups: tuple[tuple[int, int], ...]


class Rules(NamedTuple):
    """A schema's limits as arrays: (c,) for each scalar column, (c, s) special codes, (g,) groups."""

    step: jax.Array
    low: jax.Array
    high: jax.Array
    up: jax.Array
    down: jax.Array
    fixed: jax.Array
    codes: jax.Array
    codes_fixed: jax.Array
    group_fixed: jax.Array


def rules_of(encoder: Encoder) -> tuple[Rules, Layout]:
    """Return the limits of a schema in encoded columns."""
    scalars = encoder.scalars
    step = encoder.step

    def grid(j: int, value: float) -> np.float32:
        feature = scalars[j]
        place = (
            np.float32(round((value - feature.lowest) / feature.precision)) if feature.is_number else value
        )
        return np.float32(min(np.float32(place) * step[j], np.float32(1)))

    def bound(j: int, top: bool) -> np.float32:
        feature = scalars[j]
        if not feature.is_number:
            return np.float32(top)
        return grid(j, feature.high if top else feature.low)

    most = max((len(f.special) for f in scalars), default=0)
    codes = np.full((len(scalars), most), -1, np.float32)
    for j, feature in enumerate(scalars):
        for k, code in enumerate(feature.special):
            codes[j, k] = grid(j, code)
    columns = range(len(scalars))
    rules = Rules(
        step=jnp.asarray(step),
        low=jnp.asarray(np.array([bound(j, False) for j in columns], np.float32)),
        high=jnp.asarray(np.array([bound(j, True) for j in columns], np.float32)),
        up=jnp.asarray(np.array([f.direction == "up" for f in scalars], bool)),
        down=jnp.asarray(np.array([f.direction == "down" for f in scalars], bool)),
        fixed=jnp.asarray(np.array([f.immutable for f in scalars], bool)),
        codes=jnp.asarray(codes),
        codes_fixed=jnp.asarray(np.array([f.special_fixed for f in scalars], bool)),
        group_fixed=jnp.asarray(np.array([f.immutable for f in encoder.categoricals], bool)),
    )
    return rules, Layout(len(scalars), encoder.groups)


def project(rules: Rules, layout: Layout, x: jax.Array, candidate: jax.Array) -> jax.Array:
    """Return the nearest row to ``candidate`` that may be served for the query ``x``, both (d,).

    Numbers land on the grid of served values, within bounds and direction; immutable columns take the
    query's value; every one-hot group has one 1. Columns that end on the query's own grid value are
    bitwise equal to it, and projecting twice changes nothing.
    """
    c = layout.scalars
    parts = [_project_scalars(rules, x[:c], candidate[:c])]
    for g, (start, stop) in enumerate(layout.groups):
        own = x[start:stop]
        choice = jnp.argmax(candidate[start:stop] + 1e-6 * own)
        hot = (jnp.arange(stop - start) == choice).astype(x.dtype)
        parts.append(jnp.where(rules.group_fixed[g], own, hot))
    return jnp.concatenate(parts)


def movable(rules: Rules, layout: Layout, x: jax.Array) -> jax.Array:
    """Return the (d,) mask of the encoded columns that may differ from the query's.

    It is exact: where it is True, some candidate moves the column; a column that may only rise and is
    at its top is False.
    """
    own = x[: layout.scalars]
    holds_code = _holds_code(rules, own)
    low, high = _limits(rules, own, holds_code)
    frozen = rules.fixed | (holds_code & rules.codes_fixed) | (high - low < 0.5 * rules.step)
    parts = [~frozen]
    for g, (start, stop) in enumerate(layout.groups):
        parts.append(jnp.full((stop - start,), ~rules.group_fixed[g]))
    return jnp.concatenate(parts)


def limits(rules: Rules, layout: Layout, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the lowest and the highest number (c,) that each scalar column may take, special codes aside."""
    own = x[: layout.scalars]
    return _limits(rules, own, _holds_code(rules, own))


def _project_scalars(rules: Rules, x: jax.Array, candidate: jax.Array) -> jax.Array:
    candidate = jnp.clip(candidate, 0, 1)
    holds_code = _holds_code(rules, x)
    low, high = _limits(rules, x, holds_code)
    inside = jnp.clip(candidate, low, high)
    steps = jnp.round(inside / rules.step)
    served = jnp.minimum(steps * rules.step, 1)
    served = jnp.where(steps == jnp.round(x / rules.step), x, served)
    stays = holds_code & (rules.codes_fixed | (jnp.abs(candidate - x) <= jnp.abs(candidate - served)))
    return jnp.where(rules.fixed | stays, x, served)


def _limits(rules: Rules, x: jax.Array, holds_code: jax.Array) -> tuple[jax.Array, jax.Array]:
    free = holds_code | ~(rules.up | rules.down)
    low = jnp.where(free | rules.down, rules.low, jnp.maximum(rules.low, x))
    high = jnp.where(free | rules.up, rules.high, jnp.minimum(rules.high, x))
    return low, high


def _holds_code(rules: Rules, x: jax.Array) -> jax.Array:
    near = jnp.abs(x[:, None] - rules.codes) < 0.5 * rules.step[:, None]
    return near.any(axis=1)
