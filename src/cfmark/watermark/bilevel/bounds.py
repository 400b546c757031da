"""Where theta may go: the l-infinity ball, the schema's limits, and a budget for the L1 distance.

``inside`` is the Euclidean projection onto all of them at once, row by row.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from cfmark.data import Layout, Rules, limits, movable

#: Halvings of the interval that holds the multiplier of the L1 ball: to float32's precision.
HALVINGS = 24


class Bounds(NamedTuple):
    """The set that holds theta: (b, d) ``low`` and ``high``, and |away + theta| of at most ``radius``.

    ``away`` (b, d) is cf - x; ``radius`` (b,) bounds the L1 norm, categories included; None for no limit.
    """

    low: jax.Array
    high: jax.Array
    away: jax.Array
    radius: jax.Array | None


def bounds_of(
    rules: Rules, layout: Layout, x: jax.Array, cf: jax.Array, delta: float, proximity: float | None
) -> Bounds:
    """Return where theta may go for counterfactuals ``cf`` (b, d) of queries ``x`` (b, d).

    Categories, immutable columns and special codes stay; numbers stay within the schema's limits for x.
    """
    c = layout.scalars
    low, high = jax.vmap(limits, (None, None, 0))(rules, layout, x)
    own = cf[:, :c]
    free = jax.vmap(movable, (None, None, 0))(rules, layout, x)[:, :c] & (low <= own) & (own <= high)
    none = jnp.zeros_like(cf)
    away = cf - x
    return Bounds(
        none.at[:, :c].set(jnp.where(free, jnp.maximum(low - own, -delta), 0)),
        none.at[:, :c].set(jnp.where(free, jnp.minimum(high - own, delta), 0)),
        away,
        None if proximity is None else (1 + proximity) * jnp.abs(away).sum(axis=1),
    )


def inside(theta: jax.Array, bounds: Bounds) -> jax.Array:
    """Return the point nearest to ``theta`` (b, d) within the bounds.

    For a multiplier l >= 0 the nearest point of the box is clip(soft(away + theta, l) - away), where
    soft(v, l) = sign(v) max(|v| - l, 0). Its L1 norm falls with l, so halving finds the smallest l that
    keeps the radius; theta = 0 is within the bounds, so there is one.
    """
    radius = bounds.radius
    if radius is None:
        return jnp.clip(theta, bounds.low, bounds.high)

    def moved(multiplier: jax.Array) -> jax.Array:
        there = bounds.away + theta
        shrunk = jnp.sign(there) * jnp.maximum(jnp.abs(there) - multiplier[:, None], 0)
        return jnp.clip(shrunk - bounds.away, bounds.low, bounds.high)

    def halve(_: int, interval: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        below, above = interval
        middle = (below + above) / 2
        fits = jnp.abs(bounds.away + moved(middle)).sum(axis=1) <= radius
        return jnp.where(fits, below, middle), jnp.where(fits, middle, above)

    zero = jnp.zeros_like(radius)
    most = jnp.abs(bounds.away + theta).max(axis=1)
    fits = jnp.abs(bounds.away + moved(zero)).sum(axis=1) <= radius
    above = jax.lax.fori_loop(0, HALVINGS, halve, (zero, most))[1]
    return moved(jnp.where(fits, 0, above))
