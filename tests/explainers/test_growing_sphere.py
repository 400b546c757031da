from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import trained
from cfmark.errors import ConfigError
from cfmark.explainers import GrowingSphereConfig, explain, growing_sphere
from cfmark.explainers.growing_sphere import Static, _points
from cfmark.explainers.loop import Space


def points(name: str, inner: float, outer: float, free: Any = True) -> tuple[np.ndarray, np.ndarray]:
    data = trained.dataset(name)
    static = Static(GrowingSphereConfig(candidates=400), Space.of(data).layout)
    x = jnp.asarray(data.query.x[0])
    mask = jnp.broadcast_to(jnp.asarray(free), x.shape)
    return np.asarray(x), np.asarray(_points(jax.random.key(0), x, mask, inner, outer, static))


def test_points_lie_in_their_shell() -> None:
    x, drawn = points("cancer", 0.4, 0.6)
    radius = np.sqrt(((drawn - x) ** 2).sum(axis=1))
    assert drawn.shape == (400, 30)
    assert 0.4 - 1e-5 <= radius.min() < 0.42
    assert 0.58 < radius.max() <= 0.6 + 1e-5
    assert np.abs((drawn - x).mean(axis=0)).max() < 0.03


def test_columns_that_may_not_move_stay() -> None:
    free = np.arange(30) % 3 > 0
    x, drawn = points("cancer", 0.4, 0.6, free)
    np.testing.assert_array_equal(drawn[:, ~free], np.tile(x[~free], (400, 1)))
    assert (drawn[:, free] != x[free]).all()


def test_categories_change_more_often_further_out() -> None:
    shares = []
    for outer in (0.1, 0.4, 5.0):
        x, drawn = points("synthetic", 0.0, outer)
        hot = drawn[:, 8:]
        assert set(np.unique(hot)) == {0, 1}
        assert (hot.sum(axis=1) == 1).all()
        shares.append((hot != x[8:]).any(axis=1).mean())
    # A group is drawn anew with chance outer / sqrt(2), at most a half; a third of the draws is its own.
    np.testing.assert_allclose(shares, [2 / 3 * 0.1 / 2**0.5, 2 / 3 * 0.4 / 2**0.5, 1 / 3], atol=0.06)


def test_too_few_shells_find_nothing() -> None:
    data, model = trained.dataset("synthetic"), trained.classifier("synthetic")
    config = GrowingSphereConfig(first_radius=1e-6, max_shells=2)
    explainer = growing_sphere.fit(jax.random.key(0), data, model, config)
    assert explain(jax.random.key(0), explainer, data.query.x[:16]).found.mean() < 0.1


@pytest.mark.parametrize(
    "options", [{"n_cfs": 0}, {"candidates": 0}, {"max_shells": 0}, {"first_radius": 0}, {"growth": 1}]
)
def test_bad_configs(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        GrowingSphereConfig(**options)
