"""``explain``: any number of queries in batches of few shapes, every answer checked at its served value."""

from collections.abc import Callable, Iterator

import jax
import numpy as np

from cfmark.errors import ConfigError, ModelError
from cfmark.types import BoolArray, Explainer, Explanations, FloatArray, IntArray, predict

#: Batches are padded to one of these sizes, so that few programs are compiled.
SMALL, MEDIUM, LARGE = 16, 128, 1024


def explain(
    key: jax.Array,
    explainer: Explainer,
    x: FloatArray,
    *,
    target: IntArray | None = None,
    first_row: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Explanations:
    """Look for the counterfactuals of encoded queries.

    Parameters
    ----------
    key
        Row i uses ``fold_in(key, first_row + i)``, so a table may be explained in pieces.
    explainer
        What a method's ``fit`` returned.
    x
        (n, d) encoded queries.
    target
        (n,) the class each query asks for; by default the other one than the classifier gives it.
    first_row
        The number of the first query in its table.
    progress
        Called with the number of rows done after each batch.
    """
    x = np.asarray(x, np.float32)
    target = 1 - predict(explainer.classifier, x) if target is None else np.asarray(target, np.int64)
    if target.shape != (len(x),) or not np.isin(target, (0, 1)).all():
        raise ConfigError(f"target: a class 0 or 1 for each of the {len(x)} queries is needed")
    pieces = []
    for start, stop in batches(len(x)):
        rows = np.arange(first_row + start, first_row + stop)
        pieces.append(_batch(key, explainer, x[start:stop], target[start:stop], rows))
        if progress:
            progress(stop - start)
    if not pieces:
        blank = np.zeros((SMALL, x.shape[1]), np.float32)
        m = explainer.search(_keys(key, np.arange(SMALL)), blank, np.zeros(SMALL, np.int64))[1].shape[1]
        return Explanations(x, np.zeros((0, m, x.shape[1]), np.float32), np.zeros((0, m), bool), target)
    cf, found = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return Explanations(x, cf, found, target)


def batches(rows: int) -> Iterator[tuple[int, int]]:
    """Cut so many rows into pieces that fill their padded batch by half at least, where there are many.

    >>> list(batches(1024 + 128 + 15))
    [(0, 1024), (1024, 1152), (1152, 1167)]
    """
    start = 0
    while start < rows:
        left = rows - start
        size = LARGE if left > LARGE // 2 else MEDIUM
        yield start, min(start + size, rows)
        start += size


def _batch(
    key: jax.Array, explainer: Explainer, x: FloatArray, target: IntArray, rows: IntArray
) -> tuple[FloatArray, BoolArray]:
    size = next(size for size in (SMALL, MEDIUM, LARGE) if size >= len(x))
    filler = np.resize(np.arange(len(x)), size)
    cf, found = explainer.search(_keys(key, rows[filler]), x[filler], target[filler])
    return _served(explainer, x, cf[: len(x)], found[: len(x)], target)


def _served(
    explainer: Explainer, x: FloatArray, cf: FloatArray, found: BoolArray, target: IntArray
) -> tuple[FloatArray, BoolArray]:
    """Keep only what the real model gives the target class, and no answer twice."""
    n, m, d = cf.shape
    if not np.isfinite(cf[found]).all():
        raise ModelError("the counterfactual search ended on values that are not finite")
    valid = predict(explainer.classifier, cf.reshape(n * m, d)).reshape(n, m) == target[:, None]
    found = found & valid & ~_repeated(cf, found & valid)
    return np.where(found[:, :, None], cf, np.float32(0)), found


def _repeated(cf: FloatArray, found: BoolArray) -> BoolArray:
    """Mark the counterfactuals that an earlier one of the same query equals."""
    again = np.zeros_like(found)
    for j in range(1, cf.shape[1]):
        same = (cf[:, :j] == cf[:, j, None]).all(axis=2) & found[:, :j]
        again[:, j] = same.any(axis=1)
    return again


def _keys(key: jax.Array, rows: IntArray) -> jax.Array:
    return jax.vmap(jax.random.fold_in, (None, 0))(key, rows)
