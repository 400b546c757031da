"""C-CHVAE: look for the counterfactual in the latent space of an auto-encoder, around the query's own place.

Every candidate of a shell is decoded, projected onto the schema and judged; the closest valid one wins.
The answer looks like the training rows, and immutable columns condition the auto-encoder. The model
itself needs no gradient.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from cfmark.data import Dataset, Layout
from cfmark.errors import ConfigError
from cfmark.explainers import vae
from cfmark.explainers.loop import Context, Phase, Run, Space, repeated, search
from cfmark.explainers.refine import VALID, closest, project_rows, undo
from cfmark.explainers.vae import Vae, VaeConfig
from cfmark.types import BoolArray, Classifier, FloatArray, IntArray


@dataclass(frozen=True)
class CchvaeConfig:
    """How latent space is searched.

    Attributes
    ----------
    n_cfs
        Counterfactuals for each query, from independent searches.
    candidates
        Random points in each latent shell.
    first_radius, growth
        The outer radius of the first shell, and the factor to the next.
    max_shells
        A row for which so many shells hold nothing is not found.
    walk_steps
        Halvings on the way back from the counterfactual's latent place to the query's.
    undo_categories
        Take back the changes of category that the answer can do without.
    vae
        The auto-encoder's shape and training.
    """

    n_cfs: int = 1
    candidates: int = 64
    first_radius: float = 0.1
    growth: float = 1.25
    max_shells: int = 26
    walk_steps: int = 6
    undo_categories: bool = True
    vae: VaeConfig = field(default_factory=VaeConfig)

    def __post_init__(self) -> None:
        if min(self.n_cfs, self.candidates, self.max_shells) < 1:
            raise ConfigError("n_cfs, candidates and max_shells must be at least 1")
        if self.first_radius <= 0 or self.growth <= 1 or self.walk_steps < 0:
            raise ConfigError("first_radius must be above 0, growth above 1, and walk_steps not negative")


@dataclass(frozen=True, eq=False)
class Cchvae:
    """A fitted C-CHVAE."""

    classifier: Classifier
    space: Space
    config: CchvaeConfig
    vae: Vae

    def search(self, keys: jax.Array, x: FloatArray, target: IntArray) -> tuple[FloatArray, BoolArray]:
        """Look for counterfactuals; see ``types.Explainer``."""
        m = self.config.n_cfs
        context = repeated(keys, x, target, m, self.space.rules, self.vae)
        cf, found = search(_pipeline, self.classifier, Static(self.config, self.space.layout), context)
        return cf.reshape(len(x), m, -1), found.reshape(len(x), m)


class Static(NamedTuple):
    """What shapes the compiled program."""

    config: CchvaeConfig
    layout: Layout


class Shells(NamedTuple):
    """The queries' places (n, z), the next shell and its places (n, m, z), the best valid place and row."""

    home: jax.Array
    shell: jax.Array
    places: jax.Array
    place: jax.Array
    cf: jax.Array
    found: jax.Array


class Walk(NamedTuple):
    """A search for the smallest valid share of the latent way: (n,) bounds, best rows (n, d)."""

    shells: Shells
    cf: jax.Array
    low: jax.Array
    high: jax.Array


def fit(
    key: jax.Array, dataset: Dataset, classifier: Classifier, config: CchvaeConfig | None = None
) -> Cchvae:
    """Train the auto-encoder on the train rows and return the explainer."""
    config = config or CchvaeConfig()
    space = Space.of(dataset)
    fixed = [
        jnp.full(stop - start, space.rules.group_fixed[g])
        for g, (start, stop) in enumerate(space.layout.groups)
    ]
    given = jnp.concatenate([space.rules.fixed, *fixed])
    return Cchvae(classifier, space, config, vae.fit_vae(key, dataset, space.layout, given, config.vae))


def _pipeline(run: Run, static: Static, context: Context) -> tuple[jax.Array, jax.Array]:
    home, _ = vae.encode(context.extra, context.x)
    n = home.shape[0]
    first = jnp.array(0)
    start = Shells(home, first, _places(static, context, home, first), home, context.x, jnp.zeros(n, bool))
    shells = run(Phase(_shell, _nearest, _missing, static.config.max_shells), start)
    walk = Walk(shells, shells.cf, jnp.zeros(n), jnp.ones(n))
    cf = run(Phase(_halfway, _keep_closer, _found, static.config.walk_steps), walk).cf
    if static.layout.groups and static.config.undo_categories:
        cf = undo(run, static, context, cf, shells.found, numbers=False)
    return cf, shells.found


@partial(jax.jit, static_argnums=0)
def _places(static: Static, context: Context, home: jax.Array, shell: jax.Array) -> jax.Array:
    """Return (n, m, z) latent points of a shell."""
    outer = static.config.first_radius * static.config.growth ** shell.astype(jnp.float32)
    inner = jnp.where(shell == 0, 0.0, outer / static.config.growth)
    shape = (static.config.candidates, home.shape[1])

    def row(key: jax.Array) -> jax.Array:
        key_direction, key_length = jax.random.split(jax.random.fold_in(key, shell))
        direction = jax.random.normal(key_direction, shape)
        norm = jnp.sqrt((direction**2).sum(axis=1, keepdims=True))
        return direction / norm * jax.random.uniform(key_length, (shape[0], 1), minval=inner, maxval=outer)

    return home[:, None, :] + jax.vmap(row)(context.keys)


def _decoded(static: Static, context: Context, places: jax.Array) -> jax.Array:
    """Return the served rows (n, m, d) at latent places (n, m, z)."""
    each = jax.vmap(vae.decode, (None, 1, None, None), 1)
    return project_rows(static.layout, context, each(context.extra, places, context.x, static.layout))


def _shell(static: Static, context: Context, state: Shells) -> jax.Array:
    return _decoded(static, context, state.places)


def _nearest(static: Static, context: Context, state: Shells, points: jax.Array, p: jax.Array) -> Shells:
    best, any_valid = closest(context.x, points, p > VALID)
    new = any_valid & ~state.found
    place = jnp.take_along_axis(state.places, best[:, None, None], axis=1)[:, 0]
    cf = jnp.take_along_axis(points, best[:, None, None], axis=1)[:, 0]
    shell = state.shell + 1
    return Shells(
        state.home,
        shell,
        _places(static, context, state.home, shell),
        jnp.where(new[:, None], place, state.place),
        jnp.where(new[:, None], cf, state.cf),
        state.found | new,
    )


def _missing(static: Static, context: Context, state: Shells) -> jax.Array:
    return ~state.found


def _halfway(static: Static, context: Context, state: Walk) -> jax.Array:
    share = 0.5 * (state.low + state.high)
    places = state.shells.home + share[:, None] * (state.shells.place - state.shells.home)
    return _decoded(static, context, places[:, None, :])


def _keep_closer(static: Static, context: Context, state: Walk, points: jax.Array, p: jax.Array) -> Walk:
    middle = 0.5 * (state.low + state.high)
    valid = (p[:, 0] > VALID) & state.shells.found
    closer = jnp.abs(points[:, 0] - context.x).sum(axis=1) < jnp.abs(state.cf - context.x).sum(axis=1)
    return Walk(
        state.shells,
        jnp.where((valid & closer)[:, None], points[:, 0], state.cf),
        jnp.where(valid, state.low, middle),
        jnp.where(valid, middle, state.high),
    )


def _found(static: Static, context: Context, state: Walk) -> jax.Array:
    return state.shells.found
