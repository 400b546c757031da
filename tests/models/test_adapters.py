import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import trained
from cfmark.data import Dataset, Feature, Schema, from_table
from cfmark.errors import ModelError
from cfmark.models import BlackBox, accuracy, adapt
from cfmark.types import FloatArray


@pytest.fixture(scope="module")
def data() -> Dataset:
    return trained.dataset("synthetic")


@pytest.fixture(scope="module")
def numeric() -> Dataset:
    """A table of numbers alone: encoded and raw rows are equally wide."""
    table = pd.DataFrame(np.random.default_rng(0).uniform(0, 9, (200, 3)).round(1), columns=list("abc"))
    table["label"] = np.where(table["a"] > table["b"], "yes", "no")
    features = tuple(Feature(name, low=0, high=9, precision=0.1) for name in "abc")
    return from_table("numeric", table, Schema(features, target="label", labels=("no", "yes")))


def raw(dataset: Dataset) -> pd.DataFrame:
    return dataset.encoder.decode(dataset.train.x)


def agrees(model: Any, dataset: Dataset, expected: FloatArray) -> None:
    adapted = adapt(model, dataset)
    assert isinstance(adapted, BlackBox)
    answer = adapted.predict_proba(dataset.holdout.x)
    assert answer.dtype == np.float32
    np.testing.assert_allclose(answer[:, 1], expected, atol=1e-6)
    assert accuracy(adapted, dataset.holdout.x, dataset.holdout.y) > 0.8


def test_what_is_a_classifier_already_stays() -> None:
    network = trained.classifier("synthetic")
    assert adapt(network, trained.dataset("synthetic")) is network
    box = adapt(lambda table: np.full(len(table), 0.5), trained.dataset("synthetic"))
    assert adapt(box, trained.dataset("synthetic")) is box


def test_an_estimator_of_the_raw_table(data: Dataset) -> None:
    prepare = make_column_transformer((OneHotEncoder(), ["group"]), remainder="passthrough")
    model = make_pipeline(prepare, StandardScaler(), LogisticRegression())
    model.fit(raw(data), data.train.y)
    agrees(model, data, model.predict_proba(data.encoder.decode(data.holdout.x))[:, 1])


def test_an_estimator_of_the_encoded_array(data: Dataset) -> None:
    model = RandomForestClassifier(20, random_state=0).fit(data.train.x, data.train.y)
    agrees(model, data, model.predict_proba(data.holdout.x)[:, 1])


@pytest.mark.parametrize("words", [True, False])
def test_labels_as_the_schema_spells_them(numeric: Dataset, words: bool) -> None:
    y = np.array(["no", "yes"])[numeric.train.y] if words else numeric.train.y
    model = LogisticRegression().fit(raw(numeric), y)
    agrees(model, numeric, model.predict_proba(numeric.encoder.decode(numeric.holdout.x))[:, 1])


def test_reversed_classes_are_put_in_order(numeric: Dataset) -> None:
    table = numeric.encoder.decode(numeric.train.x).assign(
        label=np.array(["good", "bad"])[numeric.train.y], d=0
    )
    schema = Schema(numeric.schema.features, target="label", labels=("good", "bad"))
    reverse = from_table("reverse", table, schema)
    # scikit-learn sorts the classes: bad, good; here class 0 is good.
    y = np.array(["good", "bad"])[reverse.train.y]
    model = LogisticRegression().fit(raw(reverse), y)
    assert list(model.classes_) == ["bad", "good"]
    agrees(model, reverse, model.predict_proba(reverse.encoder.decode(reverse.holdout.x))[:, 0])


def test_columns_in_another_order(numeric: Dataset) -> None:
    model = LogisticRegression().fit(raw(numeric)[["c", "a", "b"]], numeric.train.y)
    expected = model.predict_proba(numeric.encoder.decode(numeric.holdout.x)[["c", "a", "b"]])
    agrees(model, numeric, expected[:, 1])


def test_a_plain_array_may_be_either(numeric: Dataset) -> None:
    in_units = LogisticRegression().fit(raw(numeric).to_numpy(), numeric.train.y)
    encoded = LogisticRegression(C=1e4).fit(numeric.train.x, numeric.train.y)
    with pytest.raises(ModelError, match=r"inputs='raw'.*inputs='encoded'"):
        adapt(in_units, numeric)
    for model, inputs in (in_units, "raw"), (encoded, "encoded"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            adapted = adapt(model, numeric, inputs)  # type: ignore[arg-type]
        assert accuracy(adapted, numeric.holdout.x, numeric.holdout.y) > 0.9


@pytest.mark.parametrize(
    "shape", [lambda p: p, lambda p: p[:, None], lambda p: np.stack([1 - p, p], 1), list]
)
def test_callables(data: Dataset, shape: Callable[[Any], Any]) -> None:
    adapted = adapt(lambda table: shape(table["x0"].to_numpy()), data)
    served = data.encoder.decode(data.holdout.x)["x0"]
    np.testing.assert_allclose(adapted.predict_proba(data.holdout.x)[:, 1], served, atol=1e-6)
    assert adapted.predict_proba(data.holdout.x[:1]).shape == (1, 2)
    assert adapted.predict_proba(data.holdout.x[:0]).shape == (0, 2)


def test_a_callable_of_encoded_rows(data: Dataset) -> None:
    adapted = adapt(lambda x: x[:, 3], data, inputs="encoded")
    np.testing.assert_array_equal(adapted.predict_proba(data.holdout.x)[:, 1], data.holdout.x[:, 3])


def failing(table: pd.DataFrame) -> None:
    raise RuntimeError("out of order")


ANSWERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an exception": (failing, "failing failed on 8 rows of the schema: out of order"),
    "too few rows": (lambda t: np.full(len(t) - 1, 0.5), r"shape \(7,\) to 8 rows"),
    "too many columns": (lambda t: np.full((len(t), 3), 1 / 3), r"shape \(8, 3\)"),
    "a single number": (lambda t: 0.5, r"shape \(\)"),
    "nothing": (lambda t: None, r"not finite|not numbers|shape"),
    "text": (lambda t: ["high"] * len(t), "not numbers"),
    "ragged": (lambda t: [[0.5]] * (len(t) - 1) + [[0.5, 0.5]], "not numbers"),
    "NaN": (lambda t: np.full(len(t), np.nan), "not finite"),
    "infinite": (lambda t: np.full(len(t), np.inf), "not finite"),
    "logits": (lambda t: np.full(len(t), 3.5), r"3\.5|-2\.5"),
    "negative": (lambda t: np.full((len(t), 2), [-0.25, 1.25]), "not a probability"),
    "a wrong sum": (lambda t: np.full((len(t), 2), 0.25), "sum to 0.5, not to 1"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_wrong_answers(data: Dataset, case: str) -> None:
    model, message = ANSWERS[case]
    with pytest.raises(ModelError, match=message):
        adapt(model, data)


def test_an_answer_may_go_wrong_later(data: Dataset) -> None:
    adapted = adapt(lambda t: np.full(len(t), 0.5 if len(t) == 8 else np.nan), data)
    with pytest.raises(ModelError, match="not finite"):
        adapted.predict_proba(data.holdout.x)


def test_models_that_do_not_fit(data: Dataset, numeric: Dataset) -> None:
    with pytest.raises(ModelError, match="has no predict_proba and cannot be called"):
        adapt(Perceptron().fit(data.train.x, data.train.y), data)
    with pytest.raises(ModelError, match="fitted on other columns than the schema's: c, d"):
        adapt(LogisticRegression().fit(raw(numeric).rename(columns={"c": "d"}), numeric.train.y), numeric)
    with pytest.raises(ModelError, match="fitted on 2 columns; the schema has 9, encoded 11"):
        adapt(LogisticRegression().fit(data.train.x[:, :2], data.train.y), data)
    three = LogisticRegression().fit(data.train.x, np.arange(len(data.train.x)) % 3)
    with pytest.raises(ModelError, match="knows 3 classes"):
        adapt(three, data)
    strange = LogisticRegression().fit(data.train.x, np.array(["no", "maybe"])[data.train.y])
    with pytest.raises(ModelError, match=r"knows the classes .*maybe.*labels are \[0, 1\]"):
        adapt(strange, data)
    with pytest.raises(ModelError, match="LogisticRegression failed on 8 rows"):
        adapt(LogisticRegression(), data)
