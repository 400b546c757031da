"""Growing Sphere: look at random points in ever larger shells around the query until one crosses over.

Numbers move in a random direction by a length inside the shell; each categorical feature takes a random
value with a probability that grows with the shell, so that about ``radius / sqrt(2)`` of them change: a
change of category is sqrt(2) long. Needs no gradient.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cfmark.data import Dataset, Layout, movable
from cfmark.errors import ConfigError
from cfmark.explainers.loop import Context, Phase, Run, Space, repeated, search
from cfmark.explainers.refine import VALID, closest, distinct, project_rows, refine
from cfmark.types import BoolArray, Classifier, FloatArray, IntArray


@dataclass(frozen=True)
class GrowingSphereConfig:
    """How the shells grow.

    Attributes
    ----------
    n_cfs
        Counterfactuals for each query, from independent searches.
    candidates
        Random points in each shell.
    first_radius, growth
        The outer radius of the first shell, and the factor to the next.
    max_shells
        A row for which so many shells hold nothing is not found.
    refine
        Undo changes that are not needed, then walk back to the boundary.
    """

    n_cfs: int = 1
    candidates: int = 64
    first_radius: float = 0.05
    growth: float = 1.3
    max_shells: int = 24
    refine: bool = True

    def __post_init__(self) -> None:
        if min(self.n_cfs, self.candidates, self.max_shells) < 1:
            raise ConfigError("n_cfs, candidates and max_shells must be at least 1")
        if self.first_radius <= 0 or self.growth <= 1:
            raise ConfigError("first_radius must be above 0 and growth above 1")


@dataclass(frozen=True, eq=False)
class GrowingSphere:
    """A fitted Growing Sphere."""

    classifier: Classifier
    space: Space
    config: GrowingSphereConfig

    def search(self, keys: jax.Array, x: FloatArray, target: IntArray) -> tuple[FloatArray, BoolArray]:
        """Look for counterfactuals; see ``types.Explainer``."""
        m = self.config.n_cfs
        context = repeated(keys, x, target, m, self.space.rules)
        static = Static(self.config, self.space.layout)
        cf, rough, found = search(_pipeline, self.classifier, static, context)
        return distinct(cf, rough, m), found.reshape(len(x), m)


class Static(NamedTuple):
    """What shapes the compiled program."""

    config: GrowingSphereConfig
    layout: Layout


class Shells(NamedTuple):
    """The next shell's number, and the closest valid point (n, d) of the first shell that holds one."""

    shell: jax.Array
    cf: jax.Array
    found: jax.Array


def fit(
    key: jax.Array, dataset: Dataset, classifier: Classifier, config: GrowingSphereConfig | None = None
) -> GrowingSphere:
    """Return the explainer; nothing is learnt, so the key is not used."""
    del key
    return GrowingSphere(classifier, Space.of(dataset), config or GrowingSphereConfig())


def _pipeline(run: Run, static: Static, context: Context) -> tuple[jax.Array, jax.Array, jax.Array]:
    n = context.x.shape[0]
    start = Shells(jnp.array(0), context.x, jnp.zeros(n, bool))
    end = run(Phase(_shell, _nearest, _missing, static.config.max_shells), start)
    cf = refine(run, static, context, end.cf, end.found) if static.config.refine else end.cf
    return cf, end.cf, end.found


def _shell(static: Static, context: Context, state: Shells) -> jax.Array:
    outer = static.config.first_radius * static.config.growth ** state.shell.astype(jnp.float32)
    inner = jnp.where(state.shell == 0, 0.0, outer / static.config.growth)

    def row(key: jax.Array, x: jax.Array) -> jax.Array:
        free = movable(context.rules, static.layout, x)
        return _points(jax.random.fold_in(key, state.shell), x, free, inner, outer, static)

    return project_rows(static.layout, context, jax.vmap(row)(context.keys, context.x))


def _points(
    key: jax.Array, x: jax.Array, free: jax.Array, inner: jax.Array, outer: jax.Array, static: Static
) -> jax.Array:
    """Return (m, d) points of one row's shell, before projection."""
    m, c, groups = static.config.candidates, static.layout.scalars, static.layout.groups
    key_direction, key_length, key_category = jax.random.split(key, 3)
    direction = jax.random.normal(key_direction, (m, c)) * free[None, :c]
    norm = jnp.sqrt((direction**2).sum(axis=1, keepdims=True))
    length = jax.random.uniform(key_length, (m, 1), minval=inner, maxval=outer)
    parts = [x[None, :c] + direction * (length / jnp.maximum(norm, 1e-9))]
    if groups:
        chance = jnp.minimum(outer / (np.sqrt(2) * len(groups)), 0.5)
        draw = jax.random.uniform(key_category, (m, len(groups))) / chance
        for g, (start, stop) in enumerate(groups):
            category = jnp.floor(draw[:, g] * (stop - start))
            hot = (category[:, None] == jnp.arange(stop - start)[None, :]).astype(x.dtype)
            parts.append(jnp.where(draw[:, g, None] < 1, hot, x[None, start:stop]))
    return jnp.concatenate(parts, axis=1)


def _nearest(static: Static, context: Context, state: Shells, points: jax.Array, p: jax.Array) -> Shells:
    best, any_valid = closest(context.x, points, p > VALID)
    chosen = jnp.take_along_axis(points, best[:, None, None], axis=1)[:, 0]
    new = any_valid & ~state.found
    return Shells(state.shell + 1, jnp.where(new[:, None], chosen, state.cf), state.found | new)


def _missing(static: Static, context: Context, state: Shells) -> jax.Array:
    return ~state.found
