"""Algorithm 1: theta climbs the outer objective through the thieves' training, batch by batch.

At each of T outer steps an ensemble of imagined thieves takes K unrolled Adam steps on queries, background
rows and marked counterfactuals (Eq. 5), an ensemble of benign models takes K on queries and background
alone (Eq. 6), and theta takes one sign step along the gradient of Eq. 4, which runs back through the
thieves' K steps. The benign models do not depend on theta, so one trajectory of them serves every batch.
Categorical and immutable columns never move.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from cfmark.data import Dataset, Layout, Rules, rules_of
from cfmark.errors import ConfigError, EmbeddingError
from cfmark.models import JaxClassifier, mlp
from cfmark.types import FloatArray, IntArray
from cfmark.watermark.bilevel import thief
from cfmark.watermark.bilevel.bounds import bounds_of, inside
from cfmark.watermark.bilevel.losses import Form, difference
from cfmark.watermark.bilevel.thief import Rows, Thief

#: Batches that run side by side: two streams keep two cores busy where one program leaves one idle.
STREAMS = 2


@dataclass(frozen=True)
class BilevelConfig:
    """The knobs of Algorithm 1.

    Attributes
    ----------
    steps, unroll
        Outer steps T, and Adam steps K of the ensembles in each.
    delta, step_size
        The bound of theta in every column, and its sign step (2.5 delta / T by default).
    poison, validity, regularisation
        The weights lambda 1 to 3 of Eq. 4.
    poison_form, validity_form
        ``log``, ``kl`` or ``residual``.
    ensemble, hidden, learning_rate
        Networks in each ensemble, their layers, and Adam's rate.
    batch_size
        Counterfactuals that are marked together.
    background
        Train rows D^t in each batch; 0 switches the augmentation off.
    start
        ``zero``, or ``uniform`` in the ball.
    proximity
        No marked counterfactual is farther from its query, in L1, than (1 + proximity) times the unmarked;
        None for no limit. Rounding to served values comes after it.
    """

    steps: int = 50
    unroll: int = 10
    delta: float = 0.05
    step_size: float | None = None
    poison: float = 2.0
    validity: float = 1.0
    regularisation: float = 1.0
    poison_form: Form = "log"
    validity_form: Form = "kl"
    ensemble: int = 8
    hidden: tuple[int, ...] = (64, 32, 16)
    learning_rate: float = 0.01
    batch_size: int = 64
    background: int = 64
    start: Literal["zero", "uniform"] = "zero"
    proximity: float | None = None

    def __post_init__(self) -> None:
        if min(self.steps, self.unroll, self.ensemble, self.batch_size) < 1 or self.background < 0:
            raise ConfigError(
                "steps, unroll, ensemble and batch_size must be at least 1, background not negative"
            )
        if not 0 < self.delta <= 1 or (self.step_size is not None and self.step_size <= 0):
            raise ConfigError("delta must be above 0 and at most 1, step_size above 0")
        if min(self.poison, self.validity, self.regularisation) < 0 or self.learning_rate <= 0:
            raise ConfigError("the three weights must not be negative, learning_rate must be above 0")
        if self.proximity is not None and self.proximity < 0:
            raise ConfigError("proximity must not be negative; None is no limit")
        for form in (self.poison_form, self.validity_form):
            if form not in get_args(Form):
                raise ConfigError(f"form {form!r} is not one of {', '.join(get_args(Form))}")
        if self.start not in ("zero", "uniform"):
            raise ConfigError(f"start {self.start!r} is neither zero nor uniform")

    @property
    def alpha_step(self) -> float:
        """The sign step: Madry's 2.5 delta / T, unless given."""
        return self.step_size if self.step_size is not None else 2.5 * self.delta / self.steps


class Batch(NamedTuple):
    """Rows (b, d) of one batch: queries, counterfactuals, target classes, and weight 0 for padding."""

    key: jax.Array
    x: jax.Array
    cf: jax.Array
    target: jax.Array
    weight: jax.Array
    background: jax.Array


class Curves(NamedTuple):
    """The three losses (T,) of a batch at each outer step, before the step."""

    poison: jax.Array
    validity: jax.Array
    regularisation: jax.Array


class Owner(NamedTuple):
    """The model whose answers the thief learns: a static function and its parameters."""

    apply: Callable[[Any, jax.Array], jax.Array]
    params: Any


def theta_of(
    key: jax.Array,
    dataset: Dataset,
    classifier: JaxClassifier,
    x: FloatArray,
    cf: FloatArray,
    target: IntArray,
    config: BilevelConfig,
    progress: Callable[[int], None] | None = None,
) -> tuple[FloatArray, list[Curves]]:
    """Return theta (n, d) for counterfactuals (n, d), and the loss curves of each batch."""
    key_benign, key_batches = jax.random.split(key)
    rules, layout = rules_of(dataset.encoder)
    owner = classifier.apply, classifier.params
    benign = _benign(*owner, key_benign, *_seen_by_benign(dataset, x, config, key_benign), config)
    pieces = list(_batches(key_batches, dataset, x, cf, target, config))

    def mark(item: tuple[int, Batch]) -> tuple[FloatArray, Curves]:
        number, batch = item
        theta, curves = _mark(owner[0], owner[1], rules, batch, benign, layout, config)
        theta, curves = np.asarray(theta), jax.tree.map(np.asarray, curves)
        if not all(np.isfinite(curve).all() for curve in (*curves, theta)):
            raise EmbeddingError(
                f"the loss of batch {number + 1} of {len(pieces)} is not finite; lower learning_rate"
            )
        if progress:
            progress(int(batch.weight.sum()))
        return theta, curves

    with ThreadPoolExecutor(STREAMS) as pool:
        done = list(pool.map(mark, enumerate(pieces)))
    return np.concatenate([theta for theta, _ in done])[: len(cf)], [curves for _, curves in done]


def _batches(
    key: jax.Array, dataset: Dataset, x: FloatArray, cf: FloatArray, target: IntArray, config: BilevelConfig
) -> Iterator[Batch]:
    size = config.batch_size
    for number, first in enumerate(range(0, len(cf), size)):
        rows = np.arange(first, first + size)
        place = np.resize(rows[rows < len(cf)], size)
        key_batch, key_background = jax.random.split(jax.random.fold_in(key, number))
        weight = (rows < len(cf)).astype(np.float32)
        background = _sample(key_background, dataset, config)
        parts = x[place], cf[place], target[place], weight, background
        yield Batch(key_batch, *map(jnp.asarray, parts))


def _sample(key: jax.Array, dataset: Dataset, config: BilevelConfig) -> FloatArray:
    chosen = np.asarray(jax.random.randint(key, (config.background,), 0, len(dataset.train.x)))
    rows: FloatArray = dataset.train.x[chosen]
    return rows


def _seen_by_benign(
    dataset: Dataset, x: FloatArray, config: BilevelConfig, key: jax.Array
) -> tuple[FloatArray, FloatArray]:
    """Return queries and background rows for the benign ensemble."""
    key_queries, key_background = jax.random.split(jax.random.fold_in(key, 1))
    chosen = np.asarray(jax.random.permutation(key_queries, len(x)))[: config.batch_size]
    return x[np.resize(chosen, config.batch_size)], _sample(key_background, dataset, config)


@partial(jax.jit, static_argnums=(0, 5))
def _benign(
    apply: Any, params: Any, key: jax.Array, x: jax.Array, background: jax.Array, config: BilevelConfig
) -> mlp.Mlp:
    """Return the benign ensemble's networks (T, e, ...) after each outer step."""
    points = jnp.concatenate([x, background])
    rows = Rows(points, jax.nn.softmax(apply(params, points)), jnp.ones(len(points)))

    def outer(models: Thief, _: None) -> tuple[Thief, mlp.Mlp]:
        models = jax.vmap(thief.unroll, (0, None, None, None))(
            models, rows, config.unroll, config.learning_rate
        )
        return models, models.network

    keys = jax.random.split(key, config.ensemble)
    models = thief.start(keys, x.shape[1], config.hidden, config.learning_rate)
    return jax.lax.scan(outer, models, None, length=config.steps)[1]


@partial(jax.jit, static_argnums=(0, 5, 6))
def _mark(
    apply: Any,
    params: Any,
    rules: Rules,
    batch: Batch,
    benign: mlp.Mlp,
    layout: Layout,
    config: BilevelConfig,
) -> tuple[jax.Array, Curves]:
    """Run Algorithm 1 on one batch: theta (b, d) and the loss curves."""
    key_start, key_models = jax.random.split(batch.key)
    bounds = bounds_of(rules, layout, batch.x, batch.cf, config.delta, config.proximity)
    objective = partial(_objective, Owner(apply, params), batch, config)

    def outer(carry: tuple[jax.Array, Thief], networks: mlp.Mlp) -> tuple[tuple[jax.Array, Thief], Curves]:
        theta, thieves = carry
        slope, (thieves, curves) = jax.grad(objective, has_aux=True)(theta, thieves, networks)
        theta = theta + config.alpha_step * jnp.sign(slope)
        return (inside(theta, bounds), thieves), curves

    begin = jnp.zeros_like(batch.cf)
    if config.start == "uniform":
        begin = jax.random.uniform(key_start, begin.shape, minval=-config.delta, maxval=config.delta)
    keys = jax.random.split(key_models, config.ensemble)
    thieves = thief.start(keys, begin.shape[1], config.hidden, config.learning_rate)
    start = inside(begin, bounds), thieves
    (theta, _), curves = jax.lax.scan(outer, start, benign)
    return theta, curves


def _objective(
    owner: Owner, batch: Batch, config: BilevelConfig, theta: jax.Array, thieves: Thief, benign: mlp.Mlp
) -> tuple[jax.Array, tuple[Thief, Curves]]:
    """Return Eq. 4 for a batch, summed over its rows, after the thieves' K steps on the marked rows."""
    marked = batch.cf + theta
    rows = _rows(owner, batch, marked)
    step = jax.vmap(thief.unroll, (0, None, None, None))
    thieves = step(thieves, rows, config.unroll, config.learning_rate)
    compare = partial(_compare, marked, batch)
    poison = compare(config.poison_form, mlp.logits, thieves.network)
    regularisation = compare("log", mlp.logits, benign)
    of_owner = jax.tree.map(lambda leaf: leaf[None], owner.params)
    validity = compare(config.validity_form, owner.apply, of_owner)
    total = config.poison * poison - config.validity * validity - config.regularisation * regularisation
    return total * batch.weight.sum(), (thieves, Curves(poison, validity, regularisation))


def _compare(
    marked: jax.Array, batch: Batch, form: Form, apply: Callable[[Any, jax.Array], jax.Array], models: Any
) -> jax.Array:
    """Return the weighted mean, over rows and models, of how much they prefer the marked rows."""

    def one(model: Any) -> jax.Array:
        both = jax.nn.log_softmax(apply(model, jnp.concatenate([marked, batch.cf])))
        return difference(form, both[: len(marked)], both[len(marked) :], batch.target)

    each = jax.vmap(one)(models)
    return (each * batch.weight[None, :]).sum() / (batch.weight.sum() * each.shape[0])


def _rows(owner: Owner, batch: Batch, marked: jax.Array) -> Rows:
    """Return what the thief learns from: queries, background and marked rows, with the owner's answers."""
    points = jnp.concatenate([batch.x, batch.background, marked])
    labels = jax.nn.softmax(owner.apply(owner.params, points))
    ones = jnp.ones(len(batch.background))
    return Rows(points, labels, jnp.concatenate([batch.weight, ones, batch.weight]))
