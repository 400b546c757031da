from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import trained
from cfmark.explainers import growing_sphere
from cfmark.explainers.growing_sphere import GrowingSphereConfig, Static
from cfmark.explainers.loop import Context, Run, Space, search
from cfmark.explainers.refine import closest, distinct, refine, undo, unit_change, unit_of_column
from cfmark.models import mlp
from cfmark.types import FloatArray, predict

ROWS = 32


def _undone(run: Run, static: Static, context: Context) -> jax.Array:
    return undo(run, static, context, *context.extra)


def _categories_undone(run: Run, static: Static, context: Context) -> jax.Array:
    return undo(run, static, context, *context.extra, numbers=False)


def _refined(run: Run, static: Static, context: Context) -> jax.Array:
    return refine(run, static, context, *context.extra)


@cache
def rough(name: str) -> tuple[Any, Context, FloatArray, FloatArray]:
    """Return far answers to some queries, as a search without refining gives them."""
    data, model = trained.dataset(name), trained.classifier(name)
    config = GrowingSphereConfig(refine=False, first_radius=0.5)
    explainer = growing_sphere.fit(jax.random.key(0), data, model, config)
    x = data.query.x[:ROWS]
    target = 1 - predict(model, x)
    cf, found = explainer.search(jax.random.split(jax.random.key(1), ROWS), x, target)
    cf, found = cf[:, 0], found[:, 0].copy()
    found[:3] = False
    space = Space.of(data)
    ends = jnp.asarray(cf), jnp.asarray(found)
    keys = jax.random.split(jax.random.key(2), ROWS)
    context = Context(keys, jnp.asarray(x), jnp.asarray(target), space.rules, ends)
    return Static(config, space.layout), context, cf, found


@pytest.mark.parametrize("name", ["cancer", "synthetic"])
def test_undo_keeps_answers_valid_and_adds_nothing(name: str) -> None:
    static, context, cf, found = rough(name)
    model, x = trained.classifier(name), np.asarray(context.x)
    less = search(_undone, model, static, context)
    assert found.sum() > ROWS / 2
    assert (predict(model, less) == np.asarray(context.target))[found].all()
    assert ((less == x) | (less == cf)).all()
    before, after = ((np.asarray(unit_change(static.layout, x, rows)) > 0).sum(axis=1) for rows in (cf, less))
    assert (after <= before).all()
    assert after[found].mean() < 0.8 * before[found].mean()
    np.testing.assert_array_equal(less[~found], cf[~found])


@pytest.mark.parametrize("name", ["cancer", "synthetic"])
def test_refined_answers_are_valid_and_closer(name: str) -> None:
    static, context, cf, found = rough(name)
    model, x = trained.classifier(name), np.asarray(context.x)
    less, refined = (search(pipeline, model, static, context) for pipeline in (_undone, _refined))
    assert (predict(model, refined) == np.asarray(context.target))[found].all()
    start, middle, end = (np.abs(rows - x).sum(axis=1) for rows in (cf, less, refined))
    assert (end <= middle + 1e-6).all()
    assert (middle <= start + 1e-6).all()
    assert end[found].mean() < 0.7 * start[found].mean()
    served = trained.dataset(name).encoder
    np.testing.assert_array_equal(served.encode(served.decode(refined)), refined)


def test_without_numbers_only_categories_are_undone() -> None:
    static, context, cf, _ = rough("synthetic")
    less = search(_categories_undone, trained.classifier("synthetic"), static, context)
    numbers = static.layout.scalars
    np.testing.assert_array_equal(less[:, :numbers], cf[:, :numbers])
    assert (less[:, numbers:] != cf[:, numbers:]).any()


def test_units() -> None:
    layout = Space.of(trained.dataset("synthetic")).layout
    assert unit_of_column(layout).tolist() == [*range(8), 8, 8, 8]
    x = np.zeros((1, 11), np.float32)
    cf = x.copy()
    x[0, 8], cf[0, 9], cf[0, 2] = 1, 1, 0.25
    np.testing.assert_allclose(unit_change(layout, x, cf), [[0, 0, 0.25, 0, 0, 0, 0, 0, 2]])


def test_the_closest_valid_point() -> None:
    x = jnp.zeros((2, 2))
    points = jnp.array([[[1.0, 1.0], [0.1, 0.0], [0.0, 0.5]]] * 2)
    valid = jnp.array([[True, False, True], [False, False, False]])
    best, any_valid = closest(x, points, valid)
    assert int(best[0]) == 2
    assert any_valid.tolist() == [True, False]


def test_a_repeated_answer_goes_back_to_its_rough_form() -> None:
    refined = np.array([[1.0], [1.0], [2.0], [3.0], [4.0], [3.0]], np.float32)
    rough_ones = np.array([[10.0], [11.0], [12.0], [13.0], [14.0], [15.0]], np.float32)
    assert distinct(refined, rough_ones, 3)[:, :, 0].tolist() == [[1, 11, 2], [3, 4, 15]]


def test_dropping_every_change_at_once_is_seen_as_invalid() -> None:
    """The judge is the model: with one that accepts all, undo goes back to the query itself."""
    static, context, _, found = rough("synthetic")
    easy = mlp.init(jax.random.key(0), 11, (64, 32, 16))
    both = jax.tree.map(jnp.zeros_like, easy)
    always = trained.classifier("synthetic").__class__(
        mlp.logits, both._replace(biases=(*both.biases[:-1], jnp.array([0.0, 3.0])))
    )
    less = search(_undone, always, static, context._replace(target=jnp.ones(ROWS, int)))
    np.testing.assert_array_equal(less[found], np.asarray(context.x)[found])
