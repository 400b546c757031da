"""The rank test: never too many accusations of a listed kind, ties and several kinds included."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfmark.errors import ConfigError
from cfmark.seeds import derive_seed
from cfmark.verification import Scores, calibrated_test, rank_p_value, samples_needed

SCORES = Scores(np.array([0.75, 0.5, 0.875]), np.array([0.5, 0.5, 0.5]), np.ones(3, np.int64))
VALUES = st.lists(st.integers(0, 5), min_size=1, max_size=40)


@given(VALUES)
def test_over_all_places_of_the_suspect_the_p_value_is_super_uniform(values: list[int]) -> None:
    """Exchangeable: each of the values is as likely to be the suspect's. Exact, ties or not."""
    p = np.array([rank_p_value(values[i], values[:i] + values[i + 1 :]) for i in range(len(values))])
    for level in np.unique(np.concatenate([p, [0.01, 0.05, 0.5]])):
        assert np.mean(p <= level) <= level + 1e-12
    if len(set(values)) == len(values):
        np.testing.assert_allclose(np.sort(p), np.arange(1, len(p) + 1) / len(p))


@given(VALUES, st.integers(0, 5))
def test_a_rank_knows_only_the_order(values: list[int], observed: int) -> None:
    p = rank_p_value(observed, values)
    assert (
        p
        == rank_p_value(observed, sorted(values))
        == rank_p_value(3 * observed - 1, 3 * np.array(values) - 1)
    )
    assert 1 / (1 + len(values)) <= p <= 1


def test_a_suspect_of_any_listed_kind_is_flagged_at_most_alpha_often() -> None:
    rng = np.random.default_rng(derive_seed("calibrated", "level"))
    times, count = 2000, 39
    means = {"queries only": 0.0, "unmarked": 1.0}
    flagged = {kind: 0 for kind in means}
    for _ in range(times):
        nulls = {kind: rng.normal(mean, 1, count) for kind, mean in means.items()}
        for kind, mean in means.items():
            flagged[kind] += calibrated_test(SCORES, nulls, 0.1, observed=float(rng.normal(mean, 1))).flagged
    spread = 4 * math.sqrt(0.09 / times)
    assert flagged["unmarked"] / times < 0.1 + spread
    assert flagged["unmarked"] / times > 0.1 - 2 * spread
    assert flagged["queries only"] / times < 0.1


def test_the_kind_that_speaks_most_for_innocence_decides() -> None:
    nulls = {"a": np.zeros(99), "b": np.append(np.zeros(90), np.ones(9)), "c": np.zeros(199)}
    verdict = calibrated_test(SCORES, nulls, 0.05, observed=0.5, score_name="ratio")
    assert verdict.p_value == 0.1
    assert not verdict.flagged
    assert verdict.details == {
        "score": "ratio",
        "decided_by": "b",
        "kinds": {
            "a": {"p_value": 0.01, "samples": 99},
            "b": {"p_value": 0.1, "samples": 99},
            "c": {"p_value": 0.005, "samples": 199},
        },
    }
    assert "'b'" in verdict.in_words()
    assert calibrated_test(SCORES, {"a": nulls["a"], "c": nulls["c"]}, 0.05, observed=0.5).p_value == 0.01


def test_the_mean_difference_is_the_score_unless_another_is_given() -> None:
    verdict = calibrated_test(SCORES, {"a": np.linspace(-1, 0, 19)}, 0.05)
    assert verdict.statistic == verdict.effect == pytest.approx(0.625 / 3)
    assert (verdict.p_value, verdict.flagged, verdict.tau, verdict.n) == (0.05, True, None, 3)
    with pytest.raises(ConfigError, match="only the score 'mean'"):
        calibrated_test(SCORES, {"a": np.zeros(19)}, score_name="ratio")


@given(st.floats(0.0005, 0.9))
def test_as_many_samples_as_needed_reach_alpha_and_one_less_does_not(alpha: float) -> None:
    needed = samples_needed(alpha)
    assert rank_p_value(1, np.zeros(needed)) <= alpha
    assert needed == 1 or rank_p_value(1, np.zeros(needed - 1)) > alpha


@pytest.mark.parametrize(
    ("alpha", "needed"), [(0.05, 19), (0.01, 99), (0.001, 999), (0.07, 14), (1 / 49, 48)]
)
def test_too_few_samples_of_one_kind_are_an_error_that_says_how_many(alpha: float, needed: int) -> None:
    assert samples_needed(alpha) == needed
    few = {"enough": np.zeros(needed), "few": np.zeros(needed - 1)}
    with pytest.raises(ConfigError, match=rf"'few' has {needed - 1} null scores; {needed} are needed"):
        calibrated_test(SCORES, few, alpha)


@pytest.mark.parametrize(
    ("nulls", "message"),
    [
        ({}, "at least one kind"),
        ({"a": np.full(30, np.nan)}, "finite"),
        ({"a": np.append(np.zeros(30), np.inf)}, "finite"),
        ({"a": np.zeros((30, 1))}, "list"),
        ({"a": ["x"] * 30}, "not numbers"),
    ],
)
def test_bad_null_scores_are_refused(nulls: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        calibrated_test(SCORES, nulls)


@pytest.mark.parametrize("observed", [math.nan, math.inf, "x"])
def test_a_bad_observed_score_is_refused(observed: Any) -> None:
    with pytest.raises(ConfigError, match="observed"):
        calibrated_test(SCORES, {"a": np.zeros(30)}, observed=observed)
