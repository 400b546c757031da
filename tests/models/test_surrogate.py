import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import trained
from cfmark.data import Dataset, Feature, Schema, from_table
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


def test_what_is_shown_is_a_code_or_a_number_and_nothing_between() -> None:
    random = np.random.default_rng(0)
    months = random.choice([-9, 99, *range(10, 61)], 400, p=[0.2, 0.1, *[0.7 / 51] * 51])
    table = pd.DataFrame({"months": months, "rate": random.random(400).round(2), "label": months % 2})
    coded = Feature("months", "integer", 10, 60, 1, special=(-9.0, 99.0))
    data = from_table("coded", table, Schema((coded, Feature("rate", precision=0.01)), target="label"))
    shown = _shown(random, data, DistilConfig(blends=5))
    served = data.encoder.decode(shown)["months"]
    assert (served.between(10, 60) | served.isin([-9, 99])).all()
    assert served.nunique() > 40
    for code, share in ((-9, 0.2), (99, 0.1)):
        assert abs((served == code).mean() - share) < 0.05
    model = adapt(lambda t: np.where(t["months"] == -9, 0.9, t["rate"]), data)
    assert distil(jax.random.key(0), model, data).agreement >= 0.9
