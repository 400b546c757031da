"""What every counterfactual method promises, on every data set that is present."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import trained
from cfmark.data import Dataset, Schema
from cfmark.evaluation import quality, violations
from cfmark.explainers import METHODS, VaeConfig, explain, fit_explainer
from cfmark.models import DistilConfig, JaxClassifier, TrainConfig, adapt, mlp
from cfmark.types import Classifier, Explainer, Explanations, FloatArray, predict

ROWS = 48
CASES = [
    ("cancer", "paper"),
    ("cancer", "actionable"),
    ("synthetic", "paper"),
    ("heloc", "paper"),
    ("heloc", "actionable"),
    ("credit", "paper"),
    ("credit", "actionable"),
    ("loan", "paper"),
    ("loan", "actionable"),
    ("mnist01", "paper"),
]
#: The validity that a schema without limits must reach; random directions in 784 pixels find less.
LOWEST = {("growing_sphere", "mnist01"): 0.4}
NEEDS_FILES = {"heloc", "credit", "loan", "mnist01"}
GRID = [
    pytest.param(method, *case, marks=[pytest.mark.files] if case[0] in NEEDS_FILES else [])
    for case in CASES
    for method in METHODS
]
#: Quickly made stand-ins and auto-encoders: the model itself judges the answers. Cancer has the defaults.
QUICK: dict[str, dict[str, Any]] = {
    "growing_sphere": {},
    "dice": {"distil": DistilConfig(rows=2000, train=TrainConfig(hidden=(64,), dropout=0.0, epochs=20))},
    "cchvae": {"vae": VaeConfig(hidden=(48,), rows=2000, epochs=30)},
}


def fitted(method: str, data: Dataset, model: Classifier, **options: Any) -> Explainer:
    quick = {} if data.name == "cancer" and isinstance(model, JaxClassifier) else QUICK[method]
    return fit_explainer(jax.random.key(1), method, data, model, **quick, **options)


def honest(result: Explanations, data: Dataset, model: Classifier) -> None:
    """Check every promise that can be seen in the answers alone."""
    x, cf, found, target = result
    assert (cf.dtype, found.dtype) == (np.float32, np.bool_)
    assert cf.shape == (*found.shape, data.width)
    assert found.shape[0] == len(x) == len(target)
    assert not cf[~found].any()
    if not found.any():
        return
    rows = np.repeat(x[:, None], cf.shape[1], axis=1)[found]
    assert (rows != cf[found]).any(axis=1).all()
    served = data.encoder.decode(cf[found])
    again = data.encoder.encode(served)
    np.testing.assert_array_equal(again.view(np.int32), cf[found].view(np.int32))
    np.testing.assert_array_equal(predict(model, again), np.repeat(target[:, None], cf.shape[1], 1)[found])
    assert not violations(data.schema, data.encoder.decode(rows), served).any()
    measured = quality(result, data.encoder, model)
    assert measured.violations == 0
    assert measured.validity == measured.found == found.mean()


def same(first: Explanations, second: Explanations) -> None:
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def row_keys(key: jax.Array, rows: int) -> jax.Array:
    return jax.vmap(jax.random.fold_in, (None, 0))(key, np.arange(rows))


@pytest.mark.parametrize(("method", "name", "schema"), GRID)
def test_promises(method: str, name: str, schema: str) -> None:
    data, model = trained.dataset(name, schema), trained.classifier(name, schema)
    x = data.query.x[: 16 if name == "mnist01" else ROWS]
    explainer = fitted(method, data, model)
    result = explain(jax.random.key(2), explainer, x)
    honest(result, data, model)
    np.testing.assert_array_equal(result.target, 1 - predict(model, x))
    if schema == "paper":
        assert result.found.mean() >= LOWEST.get((method, name), 0.95)
    same(explain(jax.random.key(2), explainer, x), result)
    other = explain(jax.random.key(3), explainer, x)
    assert (other.cf != result.cf).any()
    honest(other, data, model)
    if schema == "paper":
        alone_among_others(explainer, x, result)


def alone_among_others(explainer: Explainer, x: FloatArray, result: Explanations) -> None:
    """A row's answer depends on its own key and values: neighbours are permuted, and others come in."""
    size = 16 if len(x) == 16 else 128
    rows = np.resize(np.arange(len(x)), size)
    order = np.random.default_rng(0).permutation(size)
    keys, target = row_keys(jax.random.key(2), size), result.target[rows]
    cf, found = explainer.search(keys, x[rows], target)
    permuted_cf, permuted_found = explainer.search(keys[order], x[rows][order], target[order])
    np.testing.assert_array_equal(permuted_found, found[order])
    np.testing.assert_array_equal(permuted_cf[permuted_found], cf[order][permuted_found])


@pytest.mark.parametrize("method", METHODS)
def test_pieces_and_progress(method: str) -> None:
    data, model = trained.dataset("synthetic"), trained.classifier("synthetic")
    explainer, key, x = fitted(method, data, model), jax.random.key(2), data.query.x[:60]
    done: list[int] = []
    whole = explain(key, explainer, x, progress=done.append)
    pieces = [explain(key, explainer, x[:25]), explain(key, explainer, x[25:], first_row=25)]
    same(Explanations(*(np.concatenate(parts) for parts in zip(*pieces, strict=True))), whole)
    assert sum(done) == 60
    honest(single := explain(key, explainer, x[:1]), data, model)
    assert single.found.all()
    none = explain(key, explainer, x[:0])
    assert (none.cf.shape, none.found.shape, none.target.shape) == ((0, 1, data.width), (0, 1), (0,))
    assert quality(none, data.encoder, model).queries == 0


@pytest.mark.parametrize(
    ("method", "name"),
    [*((method, "cancer") for method in METHODS), pytest.param("dice", "credit", marks=pytest.mark.files)],
)
def test_several_answers_to_a_query(method: str, name: str) -> None:
    data, model = trained.dataset(name), trained.classifier(name)
    result = explain(jax.random.key(2), fitted(method, data, model, n_cfs=3), data.query.x[:ROWS])
    honest(result, data, model)
    assert result.found.shape == (ROWS, 3)
    assert result.found.mean() >= 0.9
    for cf, found in zip(result.cf, result.found, strict=True):
        assert len(np.unique(cf[found], axis=0)) == found.sum()


def forest_of_arrays(data: Dataset) -> Classifier:
    return adapt(RandomForestClassifier(20, random_state=0).fit(data.train.x, data.train.y), data, "encoded")


def rule_of_tables(data: Dataset) -> Classifier:
    """A hand-written rule in the table's own columns and units."""
    return adapt(lambda t: np.clip(0.3 + t["x0"] - 0.6 * t["x1"] + 0.2 * (t["group"] == "b"), 0, 1), data)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("cancer", forest_of_arrays),
        ("synthetic", rule_of_tables),
        pytest.param("heloc", forest_of_arrays, marks=pytest.mark.files),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_models_that_can_only_be_asked(method: str, name: str, make: Callable[[Dataset], Classifier]) -> None:
    data = trained.dataset(name)
    model = make(data)
    explainer = fitted(method, data, model)
    x = data.query.x[:16]
    result = explain(jax.random.key(2), explainer, x)
    honest(result, data, model)
    np.testing.assert_array_equal(result.target, 1 - predict(model, x))
    assert result.found.mean() >= 0.8
    same(explain(jax.random.key(2), explainer, x), result)


def frozen(data: Dataset) -> Dataset:
    features = {name: {"immutable": True} for name in data.schema.names}
    schema: Schema = data.schema.with_changes(features)
    return Dataset(data.name, schema, data.train, data.query, data.holdout)


def always_0(width: int) -> JaxClassifier:
    """A network of the owner's shape that gives every row to class 0."""
    still = jax.tree.map(jnp.zeros_like, mlp.init(jax.random.key(0), width, (64, 32, 16)))
    return JaxClassifier(mlp.logits, still._replace(biases=(*still.biases[:-1], jnp.array([2.0, 0.0]))))


@pytest.mark.parametrize("method", METHODS)
def test_where_there_is_nothing(method: str) -> None:
    data, model = trained.dataset("synthetic"), trained.classifier("synthetic")
    boxed = adapt(lambda table: np.zeros(len(table)), data)
    cases = [(frozen(data), model), (data, always_0(data.width)), (data, boxed)]
    for chosen, judge in cases:
        explainer = fitted(method, chosen, judge)
        result = explain(jax.random.key(2), explainer, chosen.query.x[:20])
        assert not result.found.any()
        honest(result, chosen, judge)
        assert quality(result, chosen.encoder, judge).validity == 0
