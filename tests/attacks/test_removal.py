import jax
import numpy as np
import pytest

from attacks.fakes import Fake, opposite, probabilities, rows
from cfmark.attacks import (
    agreements,
    averaging,
    clean,
    finetune,
    mrce,
    noise,
    prune,
    query,
    rounding,
    thieves,
    train_config,
    train_networks,
)
from cfmark.errors import ConfigError
from cfmark.models import mlp
from cfmark.types import FloatArray, Transcript

KEY = jax.random.key(0)
X = rows(64)
#: Three scalar columns; the fourth stands for a category.
SCALARS = 3
SMALL = train_config("mlp_small")
ISSUED = mrce(Fake().service(), X)


def untrained(many: int) -> mlp.Mlp:
    keys = jax.random.split(KEY, many)
    networks: mlp.Mlp = jax.vmap(lambda key: mlp.init(key, 4, (16, 8)))(keys)
    return networks._replace(biases=tuple(bias + 1 for bias in networks.biases))


def flat(networks: mlp.Mlp) -> FloatArray:
    return np.concatenate([np.asarray(w).reshape(len(w), -1) for w in networks.weights], axis=1)


def same(a: mlp.Mlp, b: mlp.Mlp) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.6, 1.0])
def test_pruning_takes_the_smallest_weights_of_each_network(rate: float) -> None:
    networks = untrained(3)
    before, after = flat(networks), flat(prune(networks, rate))
    for old, new in zip(before, after, strict=True):
        gone = new == 0
        assert gone.sum() == round(rate * len(old))
        np.testing.assert_array_equal(new[~gone], old[~gone])
        if 0 < rate < 1:
            assert np.abs(old[gone]).max() <= np.abs(old[~gone]).min()
    assert all((np.asarray(bias) == 1).all() for bias in prune(networks, rate).biases)


def test_pruning_ranks_all_layers_together_and_leaves_the_model_it_was_given() -> None:
    networks = untrained(2)
    kept = flat(networks)
    first = np.asarray(networks.weights[0]) * 1e-7
    networks = networks._replace(weights=(first, *networks.weights[1:]))
    share = first[0].size / kept.shape[1]
    pruned = prune(networks, share)
    assert not np.asarray(pruned.weights[0]).any()
    assert all(np.asarray(weight).all() for weight in pruned.weights[1:])
    assert (first != 0).all()
    assert same(prune(networks, 0.0), networks)


def test_many_pruned_at_once_are_as_one_by_one() -> None:
    networks = untrained(3)
    together = flat(prune(networks, 0.4))
    for i in range(3):
        alone = flat(prune(jax.tree.map(lambda part, i=i: part[i : i + 1], networks), 0.4))
        np.testing.assert_array_equal(together[i], alone[0])


def test_no_epoch_of_fine_tuning_changes_nothing() -> None:
    networks = untrained(2)
    own = query(Fake().service(), X)
    assert same(finetune(jax.random.split(KEY, 2), networks, [own, own], 0, "mlp_small"), networks)


def test_fine_tuning_learns_the_clean_labels_from_where_it_was() -> None:
    class Owner:
        def predict_proba(self, x: FloatArray) -> FloatArray:
            return probabilities(x)

    keys = jax.random.split(KEY, 3)
    upside_down = ISSUED._replace(y=ISSUED.y[:, ::-1])
    wrong = train_networks(keys, [upside_down] * 3, SMALL)
    own = query(Fake().service(), X)
    one, many = (finetune(keys, wrong, [own] * 3, epochs, "mlp_small") for epochs in (1, 60))
    unseen = rows(300, seed=2)
    shares = [agreements(networks, Owner(), unseen).mean() for networks in (wrong, one, many)]
    assert shares[0] < 0.2 < 0.8 < shares[2]
    moved = [np.abs(flat(networks) - flat(wrong)).mean() for networks in (one, many)]
    assert 0 < moved[0] < moved[1]
    alone = finetune(keys[1:2], jax.tree.map(lambda part: part[1:2], wrong), [own], 60, "mlp_small")
    both = np.stack([np.asarray(thieves._logits(n, unseen))[i] for n, i in ((many, 1), (alone, 0))])
    np.testing.assert_allclose(both[0], both[1], atol=5e-2)


def test_clean_data_is_the_attackers_own() -> None:
    fake, y = Fake(), (X[:, 0] > 0.5).astype(np.int64)
    answered = clean("answers", fake.service(), X, y)
    np.testing.assert_array_equal(answered.y, probabilities(X))
    assert [name for name, _ in fake.calls] == ["predict"]
    labelled = clean("true", fake.service(), X, y)
    assert len(fake.calls) == 1
    np.testing.assert_array_equal(labelled.y[:, 1], y)
    for own in (answered, labelled):
        np.testing.assert_array_equal(own.x, X)


def changed_in_numbers_of_cfs_alone(before: Transcript, after: Transcript) -> None:
    queries = before.kind == 0
    np.testing.assert_array_equal(after.x[queries], before.x[queries])
    np.testing.assert_array_equal(after.x[:, SCALARS:], before.x[:, SCALARS:])
    np.testing.assert_array_equal(after.y[queries], before.y[queries])
    assert (after.x[~queries][:, :SCALARS] != before.x[~queries][:, :SCALARS]).mean() > 0.6
    assert after.x.dtype == np.float32
    assert after.x.min() >= 0
    assert after.x.max() <= 1


@pytest.mark.parametrize("size", [0.02, 0.5])
def test_noise_is_bounded(size: float) -> None:
    noisy = noise(KEY, ISSUED, size, SCALARS)
    changed_in_numbers_of_cfs_alone(ISSUED, noisy)
    moved = np.abs(noisy.x - ISSUED.x)
    assert 0.8 * size < moved.max() <= size + 1e-6
    again, other = noise(KEY, ISSUED, size, SCALARS), noise(jax.random.key(1), ISSUED, size, SCALARS)
    np.testing.assert_array_equal(again.x, noisy.x)
    assert (other.x != noisy.x).any()
    np.testing.assert_array_equal(noise(KEY, ISSUED, 0.0, SCALARS).x, ISSUED.x)


@pytest.mark.parametrize("step", [0.05, 0.3, 1.0])
def test_rounding_lands_on_the_grid(step: float) -> None:
    rounded = rounding(ISSUED, step, SCALARS)
    changed_in_numbers_of_cfs_alone(ISSUED, rounded)
    numbers = rounded.x[64:, :SCALARS]
    np.testing.assert_allclose(numbers / step, np.rint(numbers / step), atol=1e-4)
    moved = np.abs(numbers - ISSUED.x[64:, :SCALARS])
    assert moved.max() <= step / 2 + 1e-5
    assert len(np.unique(numbers)) <= 1 / step + 1


def test_averaging_takes_the_other_answers_to_the_query_first() -> None:
    issued = mrce(Fake(n_cfs=3).service(), X)
    apart = 0.01 * (np.arange(len(issued.x), dtype=np.float32) % 3)[:, None]
    spread = issued._replace(x=issued.x + apart)
    mean = averaging(spread, 3, SCALARS)
    changed_in_numbers_of_cfs_alone(spread, mean)
    for number in range(64):
        mine = spread.source == number
        of_query = mine & (spread.kind == 1)
        expected = spread.x[of_query][:, :SCALARS].mean(axis=0)
        np.testing.assert_allclose(mean.x[of_query][:, :SCALARS], np.tile(expected, (3, 1)), rtol=1e-5)
        np.testing.assert_allclose(
            mean.y[of_query], spread.y[of_query].mean(axis=0)[None].repeat(3, 0), rtol=1e-5
        )


def test_averaging_single_answers_takes_the_nearest_of_the_class() -> None:
    mean = averaging(ISSUED, 2, SCALARS)
    changed_in_numbers_of_cfs_alone(ISSUED, mean)
    cf, y = opposite(X), probabilities(opposite(X))
    for i in (0, 7, 63):
        others = np.flatnonzero((y.argmax(axis=1) == y[i].argmax()) & (np.arange(64) != i))
        gaps = ((cf[others, :SCALARS] - cf[i, :SCALARS]) ** 2).sum(axis=1)
        nearest = others[gaps.argmin()]
        np.testing.assert_allclose(mean.x[64 + i, :SCALARS], (cf[i] + cf[nearest])[:SCALARS] / 2, rtol=1e-5)
        np.testing.assert_allclose(mean.y[64 + i], (y[i] + y[nearest]) / 2, rtol=1e-5)
    np.testing.assert_array_equal(averaging(ISSUED, 1, SCALARS).x, ISSUED.x)
    np.testing.assert_array_equal(mean.y.argmax(axis=1), ISSUED.y.argmax(axis=1))


def test_averaging_more_than_there_are_is_the_mean_of_all() -> None:
    few = mrce(Fake().service(), X[:3])
    one_class = few._replace(y=np.tile(np.array([0.2, 0.8], np.float32), (6, 1)))
    mean = averaging(one_class, 50, SCALARS).x[3:, :SCALARS]
    np.testing.assert_allclose(mean, np.tile(few.x[3:, :SCALARS].mean(axis=0), (3, 1)), rtol=1e-5)


def test_a_transcript_without_counterfactuals_stays() -> None:
    own = query(Fake().service(), X)
    changes = noise(KEY, own, 0.1, SCALARS), rounding(own, 0.1, SCALARS), averaging(own, 4, SCALARS)
    for changed in changes:
        np.testing.assert_array_equal(changed.x, own.x)
        np.testing.assert_array_equal(changed.y, own.y)


def test_refused() -> None:
    networks = untrained(1)
    with pytest.raises(ConfigError, match="epochs = -1"):
        finetune(jax.random.split(KEY, 1), networks, [ISSUED], -1)
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(ConfigError, match="rate = "):
            prune(networks, rate)
    for size in (-0.1, float("nan")):
        with pytest.raises(ConfigError, match="size = "):
            noise(KEY, ISSUED, size, SCALARS)
    for step in (0.0, 1.5, float("nan")):
        with pytest.raises(ConfigError, match="step = "):
            rounding(ISSUED, step, SCALARS)
    with pytest.raises(ConfigError, match="count = 0"):
        averaging(ISSUED, 0, SCALARS)
    with pytest.raises(ConfigError, match="neither answers nor true"):
        clean("guessed", Fake().service(), X, np.zeros(64, np.int64))  # type: ignore[arg-type]
