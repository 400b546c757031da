from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from cfmark.errors import ConfigError
from cfmark.models import TrainConfig, fit, fit_many, forget_programs, mlp, soft_labels, training
from cfmark.types import FloatArray

KEY = jax.random.key(0)
CONFIG = TrainConfig(hidden=(16,), dropout=0.2, learning_rate=5e-3, epochs=12, batch_size=16)


def separable(rows: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    x = np.random.default_rng(seed).uniform(size=(rows, 4)).astype(np.float32)
    return x, soft_labels((x[:, 0] > x[:, 1]).astype(np.int64))


def padded(
    x: FloatArray, y: FloatArray, rows: int, filler: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    weights = np.r_[np.ones(len(x)), np.zeros(rows)].astype(np.float32)
    more_x = np.full((rows, x.shape[1]), filler, np.float32)
    more_y = np.full((rows, 2), filler, np.float32)
    return np.concatenate([x, more_x]), np.concatenate([y, more_y]), weights


def numbers(network: mlp.Mlp) -> FloatArray:
    return np.concatenate([np.asarray(part).ravel() for part in jax.tree.leaves(network)])


def test_learns_what_can_be_learnt() -> None:
    x, y = separable(400)
    unseen, labels = separable(400, seed=1)
    network = fit(KEY, x, y, np.ones(len(x)), replace(CONFIG, epochs=40))
    right = np.asarray(mlp.logits(network, unseen)).argmax(axis=1) == labels.argmax(axis=1)
    assert right.mean() > 0.9


def test_soft_labels_are_respected() -> None:
    x = np.zeros((200, 2), np.float32)
    y = np.tile(np.array([0.2, 0.8], np.float32), (200, 1))
    network = fit(KEY, x, y, np.ones(len(x)), replace(CONFIG, dropout=0.0, epochs=60))
    np.testing.assert_allclose(jax.nn.softmax(mlp.logits(network, x[0])), [0.2, 0.8], atol=0.01)


def test_weights_are_respected() -> None:
    x = np.zeros((200, 2), np.float32)
    y = soft_labels(np.arange(200) % 2)
    weights = np.where(np.arange(200) % 2, 3.0, 1.0)
    config = replace(CONFIG, dropout=0.0, epochs=60, batch_size=200)
    network = fit(KEY, x, y, weights, config)
    np.testing.assert_allclose(jax.nn.softmax(mlp.logits(network, x[0])), [0.25, 0.75], atol=0.01)


@pytest.mark.parametrize(("rows", "averaging"), [(1, 0.9), (70, 0.0)])
def test_a_padded_table_trains_as_the_table_itself(rows: int, averaging: float) -> None:
    x, y = separable(50)
    config = replace(CONFIG, averaging=averaging)
    plain = fit(KEY, x, y, np.ones(len(x)), config)
    extended = fit(KEY, *padded(x, y, rows, 0.5), config)
    np.testing.assert_allclose(numbers(extended), numbers(plain), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("garbage", [-1e30, np.inf, np.nan])
def test_what_stands_in_padding_is_never_seen(garbage: float) -> None:
    x, y = separable(50)
    clean = fit(KEY, *padded(x, y, 21, 0.0), CONFIG)
    dirty = fit(KEY, *padded(x, y, 21, garbage), CONFIG)
    np.testing.assert_array_equal(numbers(dirty), numbers(clean))


def test_a_table_of_padding_alone_changes_nothing() -> None:
    x, y = separable(50)
    network = fit(KEY, x, y, np.zeros(len(x)), CONFIG)
    untrained = mlp.init(jax.random.split(KEY)[0], 4, CONFIG.hidden)
    np.testing.assert_allclose(numbers(network), numbers(untrained), rtol=1e-6)


def test_many_at_once_are_as_one_by_one() -> None:
    pieces = [padded(*separable(rows, seed=rows), 60 - rows, 7.0) for rows in (60, 41, 20)]
    x, y, weights = (np.stack(parts) for parts in zip(*pieces, strict=True))
    keys = jax.random.split(KEY, 3)
    together = fit_many(keys, x, y, weights, CONFIG)
    for i in range(3):
        alone = fit(keys[i], x[i], y[i], weights[i], CONFIG)
        mine = jax.tree.map(lambda part, i=i: part[i], together)
        np.testing.assert_allclose(numbers(mine), numbers(alone), rtol=1e-3, atol=1e-4)


def test_the_key_decides() -> None:
    x, y = separable(50)
    first, again = (numbers(fit(KEY, x, y, np.ones(50), CONFIG)) for _ in range(2))
    other = numbers(fit(jax.random.key(1), x, y, np.ones(50), CONFIG))
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.5


def test_averaging_lags_behind_the_last_weights() -> None:
    x, y = separable(50)
    start = numbers(mlp.init(jax.random.split(KEY)[0], 4, CONFIG.hidden))
    last, mean = (
        numbers(fit(KEY, x, y, np.ones(50), replace(CONFIG, averaging=share))) for share in (0.0, 0.99)
    )
    assert 0 < np.abs(mean - start).sum() < np.abs(last - start).sum()


def test_dropout_is_used_in_training() -> None:
    x, y = separable(50)
    with_it, without = (
        numbers(fit(KEY, x, y, np.ones(50), c)) for c in (CONFIG, replace(CONFIG, dropout=0.0))
    )
    assert (with_it != without).mean() > 0.5


@pytest.mark.parametrize(
    "options",
    [
        {"hidden": ()},
        {"hidden": (8, 0)},
        {"dropout": 1.0},
        {"dropout": -0.1},
        {"averaging": 1.0},
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"epochs": 0},
        {"batch_size": 0},
    ],
)
def test_bad_configs(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        TrainConfig(**options)


def test_forgotten_programs_are_made_again_and_train_the_same() -> None:
    random = np.random.default_rng(5)
    x, weights = random.uniform(size=(2, 32, 3)).astype(np.float32), np.ones((2, 32), np.float32)
    y = np.eye(2, dtype=np.float32)[random.integers(0, 2, (2, 32))]
    keys, config = jax.random.split(jax.random.key(0), 2), TrainConfig(hidden=(4,), epochs=2)
    before = fit_many(keys, x, y, weights, config)
    assert training._program.cache_info().currsize > 0
    forget_programs()
    assert training._program.cache_info().currsize == 0
    for one, other in zip(before.weights, fit_many(keys, x, y, weights, config).weights, strict=True):
        np.testing.assert_array_equal(one, other)
