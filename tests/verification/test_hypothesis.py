"""The t-test: level, agreement with Theorem 1, invariances, degenerate answers."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from cfmark.errors import ConfigError, ModelError
from cfmark.seeds import derive_seed
from cfmark.verification import Scores, t_test, theorem_condition

PROBABILITIES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30)
TAUS = st.floats(-0.5, 0.5)
ALPHAS = st.floats(0.001, 0.6)


def of(pairs: Any) -> Scores:
    issued, counterpart = np.array(pairs, float).T
    return Scores(issued, counterpart, np.ones(len(issued), np.int64))


def with_differences(d: Any) -> Scores:
    d = np.asarray(d, float)
    return Scores(np.maximum(d, 0), np.maximum(-d, 0), np.ones(len(d), np.int64))


def simulated(times: int, n: int, mean: float, *axes: str) -> list[Scores]:
    rng = np.random.default_rng(derive_seed("t-test", *axes))
    return [with_differences(rng.normal(mean, 0.05, n)) for _ in range(times)]


def test_it_is_the_one_sided_paired_t_test_of_scipy() -> None:
    for scores in simulated(20, 17, 0.06, "scipy"):
        ours = t_test(scores, tau=0.05)
        theirs = stats.ttest_rel(scores.issued, scores.counterpart + 0.05, alternative="greater")
        assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-9)
        assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)


@pytest.mark.parametrize("n", [5, 40])
@pytest.mark.parametrize("tau", [0.0, 0.05])
def test_p_values_are_uniform_when_the_mean_is_tau(n: int, tau: float) -> None:
    p = [t_test(scores, tau).p_value for scores in simulated(3000, n, tau, f"uniform {n} {tau}")]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_p_values_are_larger_than_uniform_when_the_mean_is_below_tau() -> None:
    p = [t_test(scores, 0.05).p_value for scores in simulated(1000, 10, 0.03, "below")]
    assert stats.kstest(p, "uniform", alternative="greater").pvalue > 0.01
    assert np.mean(np.array(p) <= 0.05) < 0.05


def test_the_interval_contains_the_mean_as_often_as_it_says_and_agrees_with_the_test() -> None:
    verdicts = [t_test(scores, 0.05, 0.1) for scores in simulated(3000, 12, 0.05, "interval")]
    covered = np.mean([v.interval.low <= 0.05 for v in verdicts])
    assert abs(covered - 0.9) < 4 * math.sqrt(0.09 / 3000)
    assert all(v.flagged == (v.interval.low > 0.05) for v in verdicts)
    assert verdicts[0].interval[1:] == (1.0, 0.9, 1)


@given(PROBABILITIES, TAUS, ALPHAS)
def test_theorem_1_with_its_sign_corrected_agrees_with_the_t_test(
    pairs: Any, tau: float, alpha: float
) -> None:
    scores = of(pairs)
    verdict = t_test(scores, tau, alpha)
    deviation = verdict.details["deviation"]
    assume(deviation == 0 or deviation > 1e-7)
    assume(verdict.statistic is None or abs(verdict.p_value - alpha) > 1e-6)
    assert theorem_condition(scores, tau, alpha) == verdict.flagged


def test_the_sign_under_the_root_decides() -> None:
    d = np.array([0.5, 0.5, 0.5, 0.5, 0.5001])
    n, mean, total = len(d), d.mean(), (d**2).sum()
    quantile = stats.t.ppf(0.95, n - 1)
    assert math.sqrt(n * n - n) * mean - quantile * math.sqrt(total + n * mean**2) < 0
    assert theorem_condition(with_differences(d))
    assert t_test(with_differences(d)).flagged


def test_theorem_1_keeps_its_digits_where_the_differences_hardly_scatter() -> None:
    d = 0.7 + 1e-9 * np.array([-1.0, 1.0, 0.5, -0.5])
    assert theorem_condition(with_differences(d), tau=0.7 - 1e-8)
    assert not theorem_condition(with_differences(d), tau=0.7 + 1e-8)


@given(PROBABILITIES, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter_to_the_last_bit(pairs: Any, random: Any) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert t_test(of(pairs), 0.05) == t_test(of(shuffled), 0.05)


@given(PROBABILITIES, TAUS, TAUS)
def test_a_larger_tau_never_makes_a_smaller_p_value(pairs: Any, one: float, other: float) -> None:
    low, high = sorted([one, other])
    smaller, larger = t_test(of(pairs), low), t_test(of(pairs), high)
    assert smaller.p_value <= larger.p_value
    assert smaller.effect == larger.effect


@pytest.mark.parametrize(
    ("difference", "tau", "p_value"),
    [(0.5, 0.25, 0.0), (0.25, 0.25, 1.0), (0.125, 0.25, 1.0), (0.0, 0.0, 1.0)],
)
def test_equal_differences_decide_by_their_sign_and_say_so(
    difference: float, tau: float, p_value: float
) -> None:
    scores = with_differences([difference] * 7)
    verdict = t_test(scores, tau)
    assert (verdict.statistic, verdict.p_value, verdict.effect) == (None, p_value, difference)
    assert verdict.flagged == (p_value == 0) == theorem_condition(scores, tau)
    assert "All 7 differences are equal" in verdict.in_words()


def test_equal_differences_that_binary_fractions_cannot_hold_are_still_equal() -> None:
    verdict = t_test(Scores(np.full(3, 0.1), np.zeros(3), np.ones(3, np.int64)))
    assert (verdict.statistic, verdict.effect) == (None, 0.1)


@pytest.mark.parametrize("test", [t_test, theorem_condition])
def test_bad_input_is_refused(test: Any) -> None:
    good = with_differences([0.1, 0.2, 0.3])
    for short in ([], [0.1]):
        with pytest.raises(ConfigError, match=f"at least 2 pairs; there are {len(short)}"):
            test(with_differences(short))
    for alpha in (0, 1, -0.1, math.nan, "x", None, True):
        with pytest.raises(ConfigError, match="alpha"):
            test(good, 0.0, alpha)
    for tau in (math.nan, math.inf, 1.5, "x", None):
        with pytest.raises(ConfigError, match="tau"):
            test(good, tau)
    with pytest.raises(ModelError, match="probabilities"):
        test(Scores(np.array([np.nan, 0.5]), np.array([0.5, 0.5]), np.ones(2, np.int64)))
