"""``verify`` runs the test that is asked for, on the suspect's answers at the pairs."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import cfmark
from cfmark.errors import ConfigError
from cfmark.types import MarkedExplanations
from cfmark.verification import calibrated_test, decide, score, t_test

N = 12
NULLS = {
    "mean": {"queries, mlp": np.linspace(-0.1, 0.1, 99), "unmarked, mlp": np.linspace(0, 0.4, 99)},
    "ratio": {"queries, mlp": np.linspace(-1, 1, 99), "unmarked, mlp": np.linspace(0, 9, 99)},
}


class Shadows(NamedTuple):
    """A calibration whose ratio is ten times the mean difference."""

    tau: dict[str, float]
    nulls: dict[str, dict[str, NDArray[np.float64]]]

    def scores_of(self, answers: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        if answers.shape[1] != N:
            raise ValueError("shapes do not match")
        means = (answers[:, :, 0] - answers[:, :, 1]).mean(axis=1)
        return {"mean": means, "ratio": 10 * means}


CALIBRATION = Shadows({"queries, mlp": 0.02, "unmarked, mlp": 0.3}, NULLS)


class Suspect:
    """The probability of class 1 is the first column."""

    def predict_proba(self, x: Any) -> Any:
        return np.stack([1 - x[:, 0], x[:, 0]], axis=1)


@pytest.fixture
def pairs() -> MarkedExplanations:
    cf = np.linspace(0.1, 0.4, 2 * N, dtype=np.float32).reshape(N, 1, 2)
    yes = np.ones((N, 1), bool)
    lift = np.linspace(0.1, 0.2, N, dtype=np.float32)[:, None, None]
    return MarkedExplanations(cf[:, 0], cf + lift, cf, yes, yes, np.ones(N, np.int64))


def test_the_margin_is_given_or_learnt(pairs: MarkedExplanations) -> None:
    scores = score(Suspect(), pairs)
    assert cfmark.verify(Suspect(), pairs, tau=0.1, alpha=0.01) == t_test(scores, 0.1, 0.01)
    assert cfmark.verify(Suspect(), pairs, calibration=CALIBRATION) == t_test(scores, 0.02)
    assert cfmark.verify(Suspect(), pairs, calibration=CALIBRATION, pool="all") == t_test(scores, 0.3)
    assert cfmark.verify(Suspect(), pairs, tau=0.1, calibration=CALIBRATION) == t_test(scores, 0.1)


@pytest.mark.parametrize("name", ["mean", "ratio"])
@pytest.mark.parametrize("pool", ["queries", "all"])
def test_the_rank_is_among_the_pools_shadows(pairs: MarkedExplanations, name: str, pool: str) -> None:
    found = cfmark.verify(Suspect(), pairs, "calibrated", calibration=CALIBRATION, pool=pool, score=name)
    scores = score(Suspect(), pairs)
    observed = float(scores.difference.mean()) * (10 if name == "ratio" else 1)
    kinds = {kind: null for kind, null in NULLS[name].items() if pool == "all" or "queries" in kind}
    wanted = calibrated_test(scores, kinds, observed=observed, score_name=name)
    assert found.p_value == wanted.p_value
    assert found.statistic == pytest.approx(observed)
    assert found.details["kinds"] == wanted.details["kinds"]
    assert found.flagged is (pool == "queries")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "coin"}, "there is no test 'coin'; the tests are t and calibrated"),
        ({}, "the t-test needs a margin: give tau, or a calibration"),
        ({"test": "calibrated"}, "the test 'calibrated' needs a calibration"),
        (
            {"calibration": CALIBRATION, "pool": "some"},
            "there is no pool 'some'; the pools are ",
        ),
        (
            {"calibration": Shadows({"unmarked, mlp": 0.1}, NULLS)},
            "the calibration has no innocents of the ",
        ),
        (
            {"test": "calibrated", "calibration": CALIBRATION, "score": "max"},
            "there is no score 'max'; the scores are mean, ratio",
        ),
    ],
)
def test_what_cannot_be_tested(options: dict[str, Any], message: str, pairs: MarkedExplanations) -> None:
    with pytest.raises(ConfigError, match=message):
        cfmark.verify(Suspect(), pairs, **options)


def test_a_calibration_of_other_pairs(pairs: MarkedExplanations) -> None:
    fewer = MarkedExplanations(*(values[:5] for values in pairs))
    with pytest.raises(ConfigError, match="the calibration is not of these 5 pairs"):
        decide(score(Suspect(), fewer), "calibrated", calibration=CALIBRATION)
