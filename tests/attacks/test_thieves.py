from typing import Any

import jax
import numpy as np
import pytest

from attacks.fakes import Fake, probabilities, rows
from cfmark.attacks import (
    FAMILIES,
    NETWORKS,
    agreement,
    agreements,
    attacked,
    extract,
    extract_many,
    mrce,
    query,
    thieves,
    train_config,
    train_networks,
    true_labels,
    unstack,
)
from cfmark.errors import ConfigError
from cfmark.types import FloatArray, Transcript, predict

KEY = jax.random.key(0)
X, UNSEEN = rows(96), rows(400, seed=1)
MRCE = mrce(Fake().service(), X)
#: The networks that the slower tests train are the small ones.
SMALL = train_config("mlp_small")


class Owner:
    def predict_proba(self, x: FloatArray) -> FloatArray:
        return probabilities(x)


def numbers(network: Any) -> FloatArray:
    return np.concatenate([np.asarray(part).ravel() for part in jax.tree.leaves(network)])


def cut(transcript: Transcript, count: int) -> Transcript:
    return Transcript(*(part[:count] for part in transcript[:4]), transcript.requests)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("labels", ["soft", "hard"])
def test_every_family_learns_the_model(family: str, labels: str) -> None:
    model = extract(KEY, attacked("mrce", Fake().service(), X, labels), family)
    answers = model.predict_proba(UNSEEN)
    assert answers.shape == (400, 2)
    np.testing.assert_allclose(answers.sum(axis=1), 1, atol=1e-5)
    assert agreement(model, Owner(), UNSEEN) > 0.85


@pytest.mark.parametrize("family", ["mlp", "logistic", "boosting"])
def test_soft_labels_teach_probabilities(family: str) -> None:
    soft = extract(KEY, MRCE, family).predict_proba(UNSEEN)
    hard = extract(KEY, attacked("mrce", Fake().service(), X, "hard"), family).predict_proba(UNSEEN)
    truth = probabilities(UNSEEN)
    assert np.abs(soft - truth).mean() < min(0.1, 0.8 * np.abs(hard - truth).mean())


@pytest.mark.parametrize("family", FAMILIES)
def test_the_key_decides_and_the_batch_does_not(family: str) -> None:
    keys = jax.random.split(KEY, 3)
    together = extract_many(keys, [MRCE, cut(MRCE, 180), MRCE], family)
    for i, transcript in enumerate((MRCE, cut(MRCE, 180), MRCE)):
        alone = extract(keys[i], transcript, family).predict_proba(UNSEEN)
        np.testing.assert_allclose(together[i].predict_proba(UNSEEN), alone, atol=2e-2)
    if family != "logistic":
        first, last = (together[i].predict_proba(UNSEEN) for i in (0, 2))
        assert np.abs(first - last).max() > 1e-3


def test_many_networks_are_as_one_by_one_whatever_their_number_and_length() -> None:
    keys = jax.random.split(KEY, 8)
    transcripts = [cut(MRCE, count) for count in (64, 40, 20, 63, 33, 64, 7, 41)]
    together = train_networks(keys, transcripts, SMALL)
    for i, model in enumerate(unstack(together)):
        alone = train_networks(keys[i : i + 1], [transcripts[i]], SMALL)
        np.testing.assert_allclose(
            model.predict_proba(UNSEEN), unstack(alone)[0].predict_proba(UNSEEN), atol=1e-2
        )


def test_few_lengths_are_compiled() -> None:
    lengths = [thieves._length(count, 32) for count in range(1, 1000)]
    assert all(count <= length for count, length in enumerate(lengths, 1))
    assert all(length < max(33, 1.5 * count + 32) for count, length in enumerate(lengths, 1))
    assert len(set(lengths)) == 10
    assert {thieves._length(n, 32) for n in (0, 32)} == {32}
    assert [thieves._length(n, 32) for n in (128, 256, 255, 200, 192)] == [128, 256, 256, 256, 192]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_one_class_or_none_is_no_trouble(family: str, count: int) -> None:
    model = extract(KEY, cut(true_labels(X, np.ones(len(X), np.int64)), count), family)
    answers = model.predict_proba(UNSEEN)
    assert answers.shape == (400, 2)
    np.testing.assert_allclose(answers.sum(axis=1), 1, atol=1e-5)
    if family not in NETWORKS:
        np.testing.assert_array_equal(answers[:, 1], 1.0 if count else 0.5)


@pytest.mark.parametrize("family", ["forest", "boosting", "logistic"])
def test_weighted_duplicates_are_repeated_rows(family: str) -> None:
    """A row with label (.25, .75) counts as one row of class 0 among four, three of class 1."""
    quarters = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], np.float32)
    y = np.tile(quarters, (24, 1))
    x, classes, weight = thieves.weighted(MRCE._replace(x=X, y=y))
    assert (weight > 0).all()
    assert len(x) == 24 * (2 + 1 + 2 + 1)
    for row, label in zip(X[:4], quarters, strict=True):
        mine = (x == row[None]).all(axis=1)
        for number in (0, 1):
            assert weight[mine & (classes == number)].sum() == label[number]
    model = extract(KEY, MRCE._replace(x=np.repeat(X[:1], 96, axis=0), y=y), family)
    # One point with every label: what can be said of it is the mean label.
    np.testing.assert_allclose(model.predict_proba(X[:1])[0, 1], y[:, 1].mean(), atol=0.02)


def test_agreement_is_the_share_of_equal_classes() -> None:
    class Contrary:
        def predict_proba(self, x: FloatArray) -> FloatArray:
            return np.where(np.arange(len(x))[:, None] < 100, probabilities(x)[:, ::-1], probabilities(x))

    assert agreement(Contrary(), Owner(), UNSEEN) == 0.75
    keys = jax.random.split(KEY, 3)
    stacked = train_networks(keys, [MRCE, cut(MRCE, 10), cut(MRCE, 0)], SMALL)
    together = agreements(stacked, Owner(), UNSEEN)
    assert together.tolist() == [agreement(model, Owner(), UNSEEN) for model in unstack(stacked)]
    assert together[0] > together[2]
    assert together[0] == (predict(unstack(stacked)[0], UNSEEN) == predict(Owner(), UNSEEN)).mean()


def test_networks_go_on_from_a_start() -> None:
    keys = jax.random.split(KEY, 2)
    first = train_networks(keys, [MRCE, MRCE], SMALL)
    further = train_networks(keys, [cut(MRCE, 0), query(Fake().service(), X)], SMALL, first)
    went, stood = numbers(unstack(further)[1].params), numbers(unstack(further)[0].params)
    np.testing.assert_allclose(stood, numbers(unstack(first)[0].params), rtol=1e-6)
    assert np.abs(went - numbers(unstack(first)[1].params)).max() > 1e-3


def test_the_papers_training() -> None:
    config = train_config("mlp")
    assert (config.hidden, config.learning_rate, config.epochs) == ((64, 32, 16), 0.01, 100)
    assert (config.batch_size, config.dropout, config.averaging) == (32, 0.3, 0.0)


def test_refused() -> None:
    with pytest.raises(ConfigError, match="no thief model 'svm'; the models are mlp"):
        extract(KEY, MRCE, "svm")
    with pytest.raises(ConfigError, match="3 keys for 1 transcripts"):
        extract_many(jax.random.split(KEY, 3), [MRCE], "forest")
