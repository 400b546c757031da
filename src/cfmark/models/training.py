"""TrainConfig and ``fit``: the one Adam loop that owners, thieves and shadows share.

``fit_many`` is the same loop under ``vmap``: many networks, each with its own rows, in one program. Rows
of weight zero are padding: the steps that would see nothing else are skipped, so a padded table trains
as the table itself does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from cfmark.errors import ConfigError
from cfmark.models import mlp
from cfmark.types import FloatArray, IntArray


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
    params: Any
    mean: Any
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
    return _fit(key, x, y, weights, config)


@partial(jax.jit, static_argnames="config")
def fit_many(keys: jax.Array, x: jax.Array, y: jax.Array, weights: jax.Array, config: TrainConfig) -> mlp.Mlp:
    """Train k networks at once: ``keys`` (k,), ``x`` (k, n, d), ``y`` (k, n, 2), ``weights`` (k, n)."""
    networks: mlp.Mlp = jax.vmap(partial(_fit, config=config))(keys, x, y, weights)
    return networks


def _fit(key: jax.Array, x: jax.Array, y: jax.Array, weights: jax.Array, config: TrainConfig) -> mlp.Mlp:
    key_init, key_steps = jax.random.split(key)
    network = mlp.init(key_init, x.shape[1], config.hidden)
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

    What stands in rows of weight zero is never seen: the loss gets zeros for them.
    """
    rows = weights.shape[0]
    adam = optax.adam(config.learning_rate)
    steps = -(-rows // config.batch_size)

    def epoch(state: _State, key: jax.Array) -> tuple[_State, None]:
        key_order, key_steps = jax.random.split(key)
        batches = _shuffle(key_order, weights, steps, config.batch_size)
        return jax.lax.scan(step, state, (jax.random.split(key_steps, steps), batches))

    def step(state: _State, item: tuple[jax.Array, jax.Array]) -> tuple[_State, None]:
        key, numbers = item
        chosen = jnp.minimum(numbers, rows - 1)
        batch_weights = jnp.where(numbers < rows, weights[chosen], 0)
        batch = tuple(_or_zero(batch_weights > 0, part[chosen]) for part in data)
        gradient = jax.grad(loss)(state.params, key, batch, batch_weights)
        updates, optimiser = adam.update(gradient, state.optimiser)
        params = optax.apply_updates(state.params, updates)
        share = config.averaging
        mean = jax.tree.map(lambda old, new: share * old + (1 - share) * new, state.mean, params)
        new = _State(params, mean, optimiser)
        seen = batch_weights.sum() > 0
        return jax.tree.map(lambda a, b: jnp.where(seen, a, b), new, state), None

    start = _State(params, params, adam.init(params))
    state, _ = jax.lax.scan(epoch, start, jax.random.split(key, config.epochs))
    return state.mean


def _shuffle(key: jax.Array, weights: jax.Array, steps: int, size: int) -> jax.Array:
    """Return (steps, size) row numbers: weighted rows in random order, then padding."""
    rows = weights.shape[0]
    rank = jax.random.uniform(key, (rows,)) + jnp.where(weights > 0, 0, 2)
    order = jnp.argsort(rank)
    return jnp.pad(order, (0, steps * size - rows), constant_values=rows).reshape(steps, size)


def _or_zero(kept: jax.Array, rows: jax.Array) -> jax.Array:
    """Return the rows (b, ...), zeros where not kept: zero times NaN would be NaN."""
    return jnp.where(kept.reshape(-1, *[1] * (rows.ndim - 1)), rows, 0)


def _cross_entropy(
    network: mlp.Mlp, key: jax.Array, batch: tuple[jax.Array, ...], weights: jax.Array, dropout: float
) -> jax.Array:
    x, y = batch
    logits = mlp.dropout_logits(key, network, x, dropout) if dropout else mlp.logits(network, x)
    losses = -(y * jax.nn.log_softmax(logits)).sum(axis=1)
    return (weights * losses).sum() / jnp.maximum(weights.sum(), 1e-9)
