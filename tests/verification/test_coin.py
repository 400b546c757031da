import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from cfmark.errors import ConfigError
from cfmark.verification import coin_test, sign_flips
from cfmark.verification.coin import EXACT_COINS, shift_interval

Array = NDArray[np.float64]
small = st.lists(st.integers(-3, 3), min_size=1, max_size=6)


def tosses(seed: int, many: int, coins: int) -> Array:
    return np.random.default_rng(seed).choice([-1.0, 1.0], (many, coins))


@given(small, small, st.data())
def test_over_all_coins_the_p_value_is_exactly_super_uniform(
    a: list[int], b: list[int], data: st.DataObject
) -> None:
    k = min(len(a), len(b))
    scores = {"a": np.array(a[:k], float), "b": np.array(b[:k], float)}
    p = np.array([sign_flips(scores, sign).p_value for sign in itertools.product([-1, 1], repeat=k)])
    for level in {*p.tolist(), data.draw(st.floats(0, 1))}:
        assert (p <= level).mean() <= level + 1e-12


@given(small, st.data())
def test_swapping_twins_and_their_coins_changes_nothing(g: list[int], data: st.DataObject) -> None:
    sign = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(g), max_size=len(g))))
    swap = np.array(data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(g), max_size=len(g))))
    before = sign_flips({"g": np.array(g, float)}, sign)
    assert sign_flips({"g": np.array(g) * swap}, sign * swap).p_value == before.p_value


def test_without_ties_the_p_value_is_uniform_over_secrets() -> None:
    g = np.random.default_rng(1).normal(size=(3, 40))
    scores = dict(zip("abc", g, strict=True))
    p = [sign_flips(scores, sign, 999, seed=i).p_value for i, sign in enumerate(tosses(2, 600, 40))]
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_with_ties_the_p_value_is_super_uniform_over_secrets() -> None:
    g = np.random.default_rng(1).integers(-1, 2, 30).astype(float)
    p = [sign_flips({"labels": g}, sign, 999, seed=i).p_value for i, sign in enumerate(tosses(3, 600, 30))]
    assert stats.kstest(p, "uniform", alternative="greater").pvalue > 0.001


def test_a_statistic_that_has_seen_the_coins_is_caught_by_the_same_check() -> None:
    g = np.random.default_rng(1).normal(size=40)
    p = [
        sign_flips({"g": g + 0.3 * sign}, sign, 999, seed=i).p_value
        for i, sign in enumerate(tosses(2, 600, 40))
    ]
    assert stats.kstest(p, "uniform", alternative="greater").pvalue < 1e-6


def test_a_choice_of_family_after_the_coins_would_be_caught() -> None:
    """The largest of twenty families, judged as if it had been the only one, convicts the innocent."""
    g = np.random.default_rng(4).normal(size=(20, 40))
    flagged = {"chosen": 0, "repeated": 0}
    for i, sign in enumerate(tosses(5, 300, 40)):
        chosen = max(g, key=lambda row: float(row @ sign / np.linalg.norm(row)))
        flagged["chosen"] += sign_flips({"chosen": chosen}, sign, 499, seed=i).p_value <= 0.05
        scores = {str(f): row for f, row in enumerate(g)}
        flagged["repeated"] += sign_flips(scores, sign, 499, seed=i).p_value <= 0.05
    assert flagged["chosen"] > 100
    assert flagged["repeated"] < 30


def test_few_coins_are_counted_and_agree_with_many_draws() -> None:
    g = {"g": np.random.default_rng(6).normal(size=EXACT_COINS)}
    sign = np.where(np.arange(EXACT_COINS) % 3, np.sign(g["g"]), -np.sign(g["g"]))
    counted = sign_flips(g, sign)
    assert counted.exact
    assert counted.flips == 2**EXACT_COINS
    more = {"g": np.concatenate([g["g"], [0.0]])}
    drawn = sign_flips(more, np.append(sign, 1), 200_000)
    assert not drawn.exact
    assert drawn.p_value == pytest.approx(counted.p_value, rel=0.1)


def test_the_seed_decides_the_tosses() -> None:
    g, sign = {"g": np.random.default_rng(7).normal(size=50)}, tosses(8, 1, 50)[0]
    assert sign_flips(g, sign, 999, seed=1) == sign_flips(g, sign, 999, seed=1)
    assert len({sign_flips(g, sign, 999, seed=i).p_value for i in range(8)}) > 1


def test_scores_that_say_nothing_accuse_nobody() -> None:
    for coins in (4, 40):
        assert sign_flips({"none": np.zeros(coins)}, np.ones(coins)).p_value == 1


def test_a_family_that_points_the_other_way_does_not_convict() -> None:
    assert sign_flips({"g": -np.ones(30)}, np.ones(30), 999).p_value == 1


def test_the_verdict_says_what_was_done() -> None:
    random = np.random.default_rng(9)
    sign = random.choice([-1, 1], 60)
    difference = 0.1 * sign + 0.02 * random.normal(size=60)
    verdict = coin_test({"mlp": difference, "trees": -difference}, sign, difference, 0.01, flips=1_999)
    assert verdict.flagged
    assert (verdict.test, verdict.n, verdict.tau) == ("coin", 60, None)
    assert verdict.details["family"] == "mlp"
    assert verdict.effect == pytest.approx(0.1, abs=0.02)
    assert 0.08 < verdict.interval.low < verdict.effect
    assert verdict.from_json(verdict.to_json()) == verdict
    assert "1,999 tosses of the 60 coins" in verdict.in_words()


@settings(max_examples=20)
@given(st.floats(-0.5, 0.5), st.integers(0, 2**32 - 1))
def test_the_interval_follows_the_shift(shift: float, seed: int) -> None:
    effects = np.random.default_rng(seed).normal(0, 0.05, 40)
    plain, moved = shift_interval(effects, 0.9), shift_interval(effects + shift, 0.9)
    assert moved.low == pytest.approx(plain.low + shift, abs=1e-6)
    assert moved.low <= (effects + shift).mean()


def test_the_interval_covers_as_often_as_it_says() -> None:
    random = np.random.default_rng(10)
    covered = [shift_interval(0.1 + random.normal(0, 0.2, 25), 0.9, 499, i).low <= 0.1 for i in range(400)]
    assert 0.86 < np.mean(covered) < 0.94


def test_what_is_no_score_or_no_coin() -> None:
    for scores, sign, message in [
        ({}, [1], "at least one family"),
        ({"g": [1.0, np.nan]}, [1, 1], "finite numbers"),
        ({"g": [1.0], "h": [1.0, 2.0]}, [1], "one for each coin"),
        ({"g": [1.0, 2.0]}, [1], "signs must be 2 numbers"),
        ({"g": [1.0, 2.0]}, [1, 0], "1 or -1"),
        ({"g": ["a"]}, [1], "not numbers"),
        ({"g": []}, [], "one for each coin"),
    ]:
        with pytest.raises(ConfigError, match=message):
            sign_flips(scores, sign)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="alpha"):
        coin_test({"g": [1.0]}, [1], [0.1], 0)
