import jax
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import trained
from cfmark.data import Dataset
from cfmark.models import DistilConfig, JaxClassifier, TrainConfig, adapt, distil
from cfmark.models.surrogate import _shown
from cfmark.types import Classifier, predict


@pytest.fixture(scope="module")
def data() -> Dataset:
    return trained.dataset("cancer")


@pytest.fixture(scope="module")
def forest(data: Dataset) -> Classifier:
    return adapt(RandomForestClassifier(40, random_state=0).fit(data.train.x, data.train.y), data, "encoded")


def test_a_forest_is_distilled(data: Dataset, forest: Classifier) -> None:
    stand_in, agreement = distil(jax.random.key(0), forest, data)
    assert isinstance(stand_in, JaxClassifier)
    assert agreement >= 0.9
    alike = predict(stand_in, data.holdout.x) == predict(forest, data.holdout.x)
    assert agreement == alike.mean()
    again, other = (distil(jax.random.key(seed), forest, data).classifier for seed in (0, 1))
    jax.tree.map(np.testing.assert_array_equal, again.params, stand_in.params)
    assert (np.asarray(other.params.weights[0]) != np.asarray(stand_in.params.weights[0])).any()


def test_a_model_that_cannot_be_learnt_agrees_by_chance(data: Dataset) -> None:
    def coin(x: np.ndarray) -> np.ndarray:
        return (np.abs(x * 1e4).sum(axis=1).astype(np.int64) % 2).astype(float)

    config = DistilConfig(train=TrainConfig(hidden=(8,), epochs=1))
    _, agreement = distil(jax.random.key(0), adapt(coin, data, "encoded"), data, config)
    assert 0.3 < agreement < 0.7


@pytest.mark.parametrize("name", ["cancer", "synthetic"])
def test_what_is_shown_could_be_served(name: str) -> None:
    data = trained.dataset(name)
    config = DistilConfig(rows=50, blends=3)
    shown = _shown(np.random.default_rng(0), data, config)
    assert shown.shape == (200, data.width)
    np.testing.assert_array_equal(data.encoder.encode(data.encoder.decode(shown)), shown)
    rows = {row.tobytes() for row in data.train.x}
    known = np.array([row.tobytes() in rows for row in shown])
    assert known[:50].all()
    assert not known[50:].all()
