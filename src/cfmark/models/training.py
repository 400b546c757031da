"""TrainConfig and ``fit``: the one Adam loop that owners, thieves and shadows share.

``fit_many`` is the same loop under ``vmap``: many networks, each with its own rows, in one program. Rows
of weight zero are padding: the steps that would see nothing else are skipped, so a padded table trains
as the table itself does.
"""

import ctypes
import gc
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from cfmark.errors import ConfigError
from cfmark.models import bits, mlp
from cfmark.types import FloatArray, IntArray

#: Networks in one program: enough to spread the cost of a call, few enough for a core's cache.
GROUP = 5


@dataclass(frozen=True)
class TrainConfig:
    """How a network is trained; the defaults are the paper's proprietary model.

    Attributes
    ----------
    hidden
        Units of the hidden layers.
    dropout
        Share of hidden units dropped in training.
    learning_rate, epochs, batch_size
        Of Adam.
    averaging
        Above 0, the result is a running mean of the weights that keeps this share at every step.
    """

    hidden: tuple[int, ...] = (64, 32, 16)
    dropout: float = 0.3
    learning_rate: float = 1e-3
    epochs: int = 50
    batch_size: int = 32
    averaging: float = 0.0

    def __post_init__(self) -> None:
        if not self.hidden or min(self.hidden) < 1:
            raise ConfigError(f"hidden = {self.hidden}: at least one layer of at least one unit")
        for name in ("dropout", "averaging"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}: a share from 0 to below 1")
        if not self.learning_rate > 0:
            raise ConfigError(f"learning_rate = {self.learning_rate}: must be above 0")
        if self.epochs < 1 or self.batch_size < 1:
            raise ConfigError("epochs and batch_size must be at least 1")


class _State(NamedTuple):
    params: jax.Array
    mean: jax.Array
    optimiser: Any


def soft_labels(y: IntArray) -> FloatArray:
    """Turn (n,) classes into (n, 2) probabilities.

    >>> soft_labels(np.array([1, 0])).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return np.eye(mlp.CLASSES, dtype=np.float32)[y]


@partial(jax.jit, static_argnames="config")
def fit(key: jax.Array, x: jax.Array, y: jax.Array, weights: jax.Array, config: TrainConfig) -> mlp.Mlp:
    """Train one network on the rows ``x`` (n, d) with soft labels ``y`` (n, 2) and ``weights`` (n,)."""
    return _fit(key, x, y, weights, None, config)


def fit_many(
    keys: jax.Array,
    x: FloatArray,
    y: FloatArray,
    weights: FloatArray,
    config: TrainConfig,
    start: mlp.Mlp | None = None,
) -> mlp.Mlp:
    """Train k networks: ``keys`` (k,), ``x`` (k, n, d), ``y`` (k, n, 2), ``weights`` (k, n).

    ``start`` (k, ...) are networks to go on with. A few at a time are one program, small enough for a core's
    cache and compiled once for any k; every core runs one.
    """
    words = np.asarray(jax.random.key_data(keys))
    parts = [np.asarray(part, np.float32) for part in (x, y, weights)]
    size = GROUP if len(words) > 1 else 1
    program = _program(size, *parts[0].shape[1:], config, start is not None)
    everything = (words, *parts, jax.tree.map(np.asarray, start))

    def train(place: IntArray) -> Any:
        some = jax.tree.map(lambda part: part[place], everything)
        return jax.tree.map(np.asarray, program(*some))

    places = np.arange(-(-len(words) // size) * size).reshape(-1, size) % len(words)
    with ThreadPoolExecutor(min(len(places), os.cpu_count() or 1)) as pool:
        groups = list(pool.map(train, places))
    networks: mlp.Mlp = jax.tree.map(lambda *g: jnp.asarray(np.concatenate(g)[: len(words)]), *groups)
    return networks


@lru_cache(maxsize=64)
def _program(size: int, rows: int, width: int, config: TrainConfig, goes_on: bool) -> Any:
    """Compile the training of ``size`` networks."""

    def one(
        words: jax.Array, x: jax.Array, y: jax.Array, weights: jax.Array, start: mlp.Mlp | None
    ) -> mlp.Mlp:
        return _fit(jax.random.wrap_key_data(words), x, y, weights, start, config)

    key = jax.random.key(0)
    network = jax.eval_shape(lambda: mlp.init(key, width, config.hidden)) if goes_on else None
    like = (jax.random.key_data(key), *(jnp.zeros(s) for s in ((rows, width), (rows, 2), (rows,))), network)
    many = jax.tree.map(lambda part: jnp.zeros((size, *part.shape), part.dtype), like)
    return jax.jit(jax.vmap(one)).lower(*many).compile()


def forget_programs() -> None:
    """Free the compiled programs of this process: they are of one data set's shapes, and hundreds of MB.

    The next call compiles again, or finds them in the compilation cache on disk.
    """
    clear: Callable[[], None] = jax.clear_caches
    _program.cache_clear()
    clear()
    gc.collect()
    with suppress(OSError, AttributeError):  # glibc keeps what was freed, unless it is told
        ctypes.CDLL(None).malloc_trim(0)


def _fit(
    key: jax.Array, x: jax.Array, y: jax.Array, weights: jax.Array, start: mlp.Mlp | None, config: TrainConfig
) -> mlp.Mlp:
    key_init, key_steps = jax.random.split(key)
    network = mlp.init(key_init, x.shape[1], config.hidden) if start is None else start
    loss = partial(_cross_entropy, dropout=config.dropout)
    trained: mlp.Mlp = descend(key_steps, network, loss, (x, y), weights, config)
    return trained


def descend(
    key: jax.Array,
    params: Any,
    loss: Callable[[Any, jax.Array, tuple[jax.Array, ...], jax.Array], jax.Array],
    data: tuple[jax.Array, ...],
    weights: jax.Array,
    config: TrainConfig,
) -> Any:
    """Return ``params`` after Adam on ``loss(params, key, batch of data, batch of weights)``; to be jitted.

    What stands in rows of weight zero is never seen: the loss gets zeros for them. All parameters are one
    vector, so that Adam is one loop over numbers.
    """
    vector, as_params = ravel_pytree(params)
    adam = optax.adam(config.learning_rate)
    steps, share = -(-weights.shape[0] // config.batch_size), config.averaging
    table = tuple(_padded(part, weights, steps * config.batch_size) for part in (weights, *data))

    def epoch(state: _State, key: jax.Array) -> tuple[_State, None]:
        keys = jax.random.split(key, 1 + steps)
        order = bits.order(keys[0], table[0] == 0)
        batches = [part[order].reshape(steps, config.batch_size, *part.shape[1:]) for part in table]
        return jax.lax.scan(step, state, (keys[1:], *batches))

    def step(state: _State, item: tuple[jax.Array, ...]) -> tuple[_State, None]:
        key, batch_weights, *batch = item
        gradient = jax.grad(lambda v: loss(as_params(v), key, tuple(batch), batch_weights))(state.params)
        updates, optimiser = adam.update(gradient, state.optimiser)
        params = state.params + updates
        mean = share * state.mean + (1 - share) * params if share else state.mean
        new = _State(params, mean, optimiser)
        seen = batch_weights.sum() > 0
        return jax.tree.map(lambda a, b: jnp.where(seen, a, b), new, state), None

    start = _State(vector, vector if share else vector[:0], adam.init(vector))
    state, _ = jax.lax.scan(epoch, start, jax.random.split(key, config.epochs))
    return as_params(state.mean if share else state.params)


def _padded(part: jax.Array, weights: jax.Array, rows: int) -> jax.Array:
    """Return the part (n, ...) with so many rows, zeros where the weight is zero: 0 times NaN is NaN."""
    part = jnp.where((weights > 0).reshape(-1, *[1] * (part.ndim - 1)), part, 0)
    return jnp.pad(part, [(0, rows - len(part))] + [(0, 0)] * (part.ndim - 1))


def _cross_entropy(
    network: mlp.Mlp, key: jax.Array, batch: tuple[jax.Array, ...], weights: jax.Array, dropout: float
) -> jax.Array:
    x, y = batch
    logits = mlp.dropout_logits(key, network, x, dropout) if dropout else mlp.logits(network, x)
    losses = -(y * jax.nn.log_softmax(logits)).sum(axis=1)
    return (weights * losses).sum() / jnp.maximum(weights.sum(), 1e-9)
