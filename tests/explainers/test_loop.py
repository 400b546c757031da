"""The compiled search and the one beside a model that can only be asked do the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import trained
from cfmark.explainers import METHODS, explain, fit_explainer
from cfmark.explainers.loop import asked, repeated, target_probability
from cfmark.models import BlackBox, adapt
from cfmark.types import IntArray, predict


@pytest.mark.parametrize("method", ["growing_sphere", "cchvae"])
def test_both_drivers_agree(method: str) -> None:
    data, model = trained.dataset("synthetic"), trained.classifier("synthetic")
    boxed = adapt(lambda x: model.predict_proba(x), data, inputs="encoded")
    assert isinstance(boxed, BlackBox)
    x, key = data.query.x[:16], jax.random.key(5)
    traced, hosted = (
        explain(key, fit_explainer(jax.random.key(1), method, data, judge), x) for judge in (model, boxed)
    )
    assert METHODS.keys() >= {method}
    np.testing.assert_array_equal(traced.found, hosted.found)
    assert traced.found.all()
    lengths = [np.abs(result.cf[:, 0] - x).sum(axis=1) for result in (traced, hosted)]
    np.testing.assert_allclose(lengths[0].mean(), lengths[1].mean(), rtol=0.02)
    assert np.isclose(*lengths, rtol=1e-3).mean() > 0.9


def test_a_model_is_asked_no_more_once_all_is_found() -> None:
    data, model = trained.dataset("synthetic"), trained.classifier("synthetic")
    calls: list[int] = []

    def ask(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        return model.predict_proba(x)

    boxed = adapt(ask, data, inputs="encoded")
    explainer = fit_explainer(jax.random.key(1), "growing_sphere", data, boxed, refine=False)
    calls.clear()
    assert explain(jax.random.key(5), explainer, data.query.x[:16]).found.all()
    # The target, some of the 24 shells, the answers; then a row with a far boundary decides how many.
    assert 2 < len(calls) < 20


def test_probability_of_the_target() -> None:
    logits = jnp.array([[[0.0, 2.0]], [[0.0, 2.0]], [[5.0, 5.0]]])
    p = np.asarray(target_probability(logits, jnp.array([1, 0, 1])))
    np.testing.assert_allclose(p[:, 0], [0.880797, 0.119203, 0.5], rtol=1e-5)


def test_asked_as_computed() -> None:
    data, model = trained.dataset("synthetic"), trained.classifier("synthetic")
    points = data.query.x[:12].reshape(4, 3, -1)
    target: IntArray = np.array([0, 1, 1, 0])
    traced = target_probability(model.apply(model.params, points), jnp.asarray(target))
    np.testing.assert_allclose(asked(model, points, target), traced, atol=1e-6)
    classes = predict(model, data.query.x[:12]).reshape(4, 3)
    np.testing.assert_array_equal(asked(model, points, target) > 0.5, classes == target[:, None])


def test_every_repetition_has_a_key_of_its_own() -> None:
    data = trained.dataset("synthetic")
    x, target = data.query.x[:4], np.array([0, 1, 0, 1])
    keys = jax.random.split(jax.random.key(0), 4)
    context = repeated(keys, x, target, 3, None)  # type: ignore[arg-type]
    np.testing.assert_array_equal(context.x, np.repeat(x, 3, axis=0))
    assert context.target.tolist() == np.repeat(target, 3).tolist()
    assert len(np.unique(np.asarray(jax.random.key_data(context.keys)), axis=0)) == 12
    alone = repeated(keys[1:2], x[1:2], target[1:2], 3, None)  # type: ignore[arg-type]
    assert (jax.random.key_data(context.keys[3:6]) == jax.random.key_data(alone.keys)).all()
