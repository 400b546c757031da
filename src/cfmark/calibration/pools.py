"""Against which innocents a calibrated test is held, and what their shadows learn from."""

import jax
import numpy as np

from cfmark.attacks import KINDS, Sources, gather, true_labels
from cfmark.calibration.shadows import Learnt
from cfmark.data import Dataset
from cfmark.errors import ConfigError
from cfmark.types import FloatArray, Transcript

#: The pools, and the models that their innocents may be. ``queries`` is the paper's claim: used our
#: counterfactuals, against only asked us. ``all`` is the strict one: every kind of innocent.
FAMILIES_OF: dict[str, tuple[str, ...]] = {
    "queries": ("mlp",),
    "all": ("mlp", "logistic", "forest", "boosting"),
}
#: How many row draws the shadows that learn from true labels share.
DRAWS = 100


def innocents(
    key: jax.Array, pool: str, sources: Sources, x: FloatArray, dataset: Dataset
) -> dict[str, Learnt]:
    """Return what the innocent shadows of a pool learn from, by kind, for the issued queries (n, d).

    The owner does not know which rows an innocent has labelled itself, so those shadows learn from as many
    rows of the owner's train split, each from its own draw.
    """
    if pool not in FAMILIES_OF:
        raise ConfigError(f"there is no pool {pool!r}; the pools are {', '.join(FAMILIES_OF)}")
    kinds = ("queries",) if pool == "queries" else KINDS
    return {
        kind: _labelled(key, dataset, len(x)) if kind == "true_labels" else _gathered(kind, sources, x)
        for kind in kinds
    }


def _gathered(kind: str, sources: Sources, x: FloatArray) -> Transcript:
    return gather(kind, sources, x, np.zeros(0, np.int64))


def _labelled(key: jax.Array, dataset: Dataset, rows: int) -> list[Transcript]:
    seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
    random = np.random.default_rng(seed)
    train = dataset.train
    draws = [random.choice(len(train.x), min(rows, len(train.x)), replace=False) for _ in range(DRAWS)]
    return [true_labels(train.x[chosen], train.y[chosen]) for chosen in draws]
