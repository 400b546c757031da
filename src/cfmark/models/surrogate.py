"""Distil a model without gradients into a network that has them, and say how well the two agree."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import numpy as np

from cfmark.data import Dataset, Encoder
from cfmark.models import mlp, training
from cfmark.models.classifier import JaxClassifier
from cfmark.models.training import TrainConfig
from cfmark.types import BoolArray, Classifier, FloatArray, predict


@dataclass(frozen=True)
class DistilConfig:
    """How the stand-in is made.

    Attributes
    ----------
    rows
        At most so many train rows are shown to the model.
    blends
        For each of them, so many points between it and another train row: the boundary lies there.
    train
        The stand-in's training.
    """

    rows: int = 20_000
    blends: int = 2
    train: TrainConfig = field(
        default_factory=lambda: TrainConfig(
            hidden=(128, 64), dropout=0.0, learning_rate=3e-3, epochs=40, batch_size=256
        )
    )


class Distilled(NamedTuple):
    """A differentiable stand-in, and the share of holdout rows that both models class alike."""

    classifier: JaxClassifier
    agreement: float


def distil(
    key: jax.Array, classifier: Classifier, dataset: Dataset, config: DistilConfig | None = None
) -> Distilled:
    """Train a network on a classifier's probabilities for train rows and points between them."""
    config = config or DistilConfig()
    key_rows, key_train = jax.random.split(key)
    seed = int(jax.random.randint(key_rows, (), 0, 2**31 - 1))
    x = _shown(np.random.default_rng(seed), dataset, config)
    y = classifier.predict_proba(x)
    network = training.fit(key_train, x, y, np.ones(len(x), np.float32), config.train)
    stand_in = JaxClassifier(mlp.logits, network)
    alike = predict(stand_in, dataset.holdout.x) == predict(classifier, dataset.holdout.x)
    return Distilled(stand_in, float(alike.mean()))


def _shown(random: np.random.Generator, dataset: Dataset, config: DistilConfig) -> FloatArray:
    rows = dataset.train.x
    if len(rows) > config.rows:
        rows = rows[random.choice(len(rows), config.rows, replace=False)]
    blends = [
        _blend(random, rows, rows[random.permutation(len(rows))], dataset) for _ in range(config.blends)
    ]
    return np.concatenate([rows, *blends])


def _blend(random: np.random.Generator, a: FloatArray, b: FloatArray, dataset: Dataset) -> FloatArray:
    """Mix numbers in a random proportion; take a category, or a number beside a code, from one of the two."""
    encoder = dataset.encoder
    share = random.uniform(size=(len(a), 1)).astype(np.float32)
    mixed = share * a + (1 - share) * b
    for columns, rows in _unmixed(encoder, a, b):
        from_a = random.uniform(size=(len(a), 1)) < share
        mixed[rows, columns] = np.where(from_a, a[:, columns], b[:, columns])[rows]
    return encoder.encode(encoder.decode(mixed))


def _unmixed(encoder: Encoder, a: FloatArray, b: FloatArray) -> Iterator[tuple[slice, BoolArray]]:
    """Yield each feature's columns, and the rows (n,) where its values cannot be mixed: there may be nothing
    between two categories, or between a special code and a number.
    """
    for start, stop in encoder.groups:
        yield slice(start, stop), np.ones(len(a), bool)
    if any(feature.special for feature in encoder.scalars):
        tables = encoder.decode(a), encoder.decode(b)
        for j, feature in enumerate(encoder.scalars):
            coded = [table[feature.name].isin(feature.special) for table in tables]
            yield slice(j, j + 1), np.any(coded, axis=0)
