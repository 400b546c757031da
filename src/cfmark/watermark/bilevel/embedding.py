"""theta for any number of counterfactuals: batch by batch, one for each core, in memory that does not grow.

What the batches share is made once: the compiled program, and the benign ensemble. Each batch is cut out of
the table when its turn comes, and leaves theta and its loss curves behind.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cfmark.data import Dataset, rules_of
from cfmark.errors import EmbeddingError
from cfmark.models import JaxClassifier
from cfmark.types import FloatArray, IntArray
from cfmark.watermark.bilevel.algorithm import Batch, Curves, benign, mark
from cfmark.watermark.bilevel.config import BilevelConfig, split


class Table(NamedTuple):
    """The rows to mark: queries (n, d), counterfactuals (n, d) and their target classes (n,)."""

    x: FloatArray
    cf: FloatArray
    target: IntArray


def theta_of(
    key: jax.Array,
    dataset: Dataset,
    classifier: JaxClassifier,
    table: Table,
    config: BilevelConfig,
    progress: Callable[[int], None] | None = None,
) -> tuple[FloatArray, list[Curves]]:
    """Return theta (n, d) for the counterfactuals of a table, and the loss curves of each batch."""
    key_benign, key_batches = jax.random.split(key)
    rules, layout = rules_of(dataset.encoder)
    plan, knobs = split(config, dataset.width)
    apply, params = classifier.apply, classifier.params
    seen = _seen_by_benign(key_benign, dataset, table.x, config)
    innocent = benign(apply, plan, params, knobs, key_benign, seen)
    count = -(-len(table.cf) // config.batch_size)

    def marked(number: int) -> tuple[FloatArray, Curves]:
        batch = _batch(key_batches, number, dataset, table, config)
        found = mark(apply, plan, layout, params, rules, knobs, batch, innocent)
        theta, curves = jax.tree.map(np.asarray, found)
        if not all(np.isfinite(part).all() for part in (theta, *curves)):
            raise EmbeddingError(
                f"the loss of batch {number + 1} of {count} is not finite; lower learning_rate "
                f"(it is {config.learning_rate})"
            )
        if progress:
            progress(int(batch.weight.sum()))
        return theta, curves

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(marked, range(count)))
    return np.concatenate([theta for theta, _ in done])[: len(table.cf)], [curves for _, curves in done]


def _batch(key: jax.Array, number: int, dataset: Dataset, table: Table, config: BilevelConfig) -> Batch:
    """Cut a batch out of the table; the last one is filled up with rows of weight 0."""
    key_batch, key_background = jax.random.split(jax.random.fold_in(key, number))
    rows = np.arange(number * config.batch_size, (number + 1) * config.batch_size)
    real = rows < len(table.cf)
    place = np.resize(rows[real], len(rows))
    parts = table.x[place], table.cf[place], table.target[place], real.astype(np.float32)
    return Batch(key_batch, *map(jnp.asarray, (*parts, _sample(key_background, dataset, config))))


def _seen_by_benign(key: jax.Array, dataset: Dataset, x: FloatArray, config: BilevelConfig) -> jax.Array:
    """Return queries, as many as in a batch, and background rows."""
    key_queries, key_background = jax.random.split(jax.random.fold_in(key, 1))
    chosen = np.asarray(jax.random.permutation(key_queries, len(x)))[: config.batch_size]
    queries = x[np.resize(chosen, config.batch_size)]
    return jnp.asarray(np.concatenate([queries, _sample(key_background, dataset, config)]))


def _sample(key: jax.Array, dataset: Dataset, config: BilevelConfig) -> FloatArray:
    chosen = np.asarray(jax.random.randint(key, (config.background,), 0, len(dataset.train.x)))
    rows: FloatArray = dataset.train.x[chosen]
    return rows
