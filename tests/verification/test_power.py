"""Power: against published values, an independent integral, and simulation."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from cfmark.errors import ConfigError
from cfmark.seeds import derive_seed
from cfmark.verification import Scores, effect_of, pairs_needed, power_at, t_test


@pytest.mark.parametrize(
    ("n", "d", "power"),
    [
        (30, 1.0, 0.999892010204909),
        (20, 0.05, 0.0764888785042198),
        (20, 0.2, 0.21707518167191),
        (20, -0.2, 0.006063932667926375),
    ],
)
def test_power_is_that_of_pwr_t_test_in_r(n: int, d: float, power: float) -> None:
    """pwr.t.test(d, n, sig.level=.05, type="one.sample", alternative="greater")."""
    assert power_at(n, d, 1.0, 0.05) == pytest.approx(power, abs=1e-8)


def by_integration(n: int, d: float, alpha: float) -> float:
    """P(Z + sqrt(n) d > t sqrt(V / (n-1))) over V chi-squared: no noncentral t anywhere."""
    bound = stats.t.isf(alpha, n - 1)

    def inner(v: float) -> float:
        return stats.norm.cdf(math.sqrt(n) * d - bound * math.sqrt(v / (n - 1))) * stats.chi2.pdf(v, n - 1)

    low, high = stats.chi2.ppf([1e-13, 1 - 1e-13], n - 1)
    return float(integrate.quad(inner, low, high, limit=200)[0])


@pytest.mark.parametrize(
    ("n", "d", "alpha"), [(4, 0.8, 0.05), (16, 0.5, 0.01), (128, 0.25, 0.001), (9, -0.1, 0.05)]
)
def test_power_is_that_of_an_integral_without_the_noncentral_t(n: int, d: float, alpha: float) -> None:
    assert power_at(n, 0.1 * d, 0.1, alpha) == pytest.approx(by_integration(n, d, alpha), abs=1e-9)


def test_power_is_how_often_the_test_flags() -> None:
    rng, n, effect, deviation, tau, times = (
        np.random.default_rng(derive_seed("power", "simulated")), 12, 0.04, 0.05, 0.03, 3000,
    )  # fmt: skip
    flagged = 0
    for _ in range(times):
        d = rng.normal(tau + effect, deviation, n)
        flagged += t_test(Scores(0.5 + d / 2, 0.5 - d / 2, np.ones(n, np.int64)), tau, 0.05).flagged
    power = power_at(n, effect, deviation, 0.05)
    assert 0.3 < power < 0.95
    assert abs(flagged / times - power) < 4 * math.sqrt(power * (1 - power) / times)


@pytest.mark.parametrize(("d", "power", "needed"), [(0.5, 0.95, 45), (0.5, 0.8, 27), (0.5, 0.9, 36)])
def test_pairs_needed_of_published_tables(d: float, power: float, needed: int) -> None:
    assert pairs_needed(d, 1.0, 0.05, power) == needed


@given(st.floats(0.02, 5), st.floats(0.001, 0.2), st.floats(0.3, 0.99))
def test_pairs_needed_suffice_and_one_less_does_not(d: float, alpha: float, power: float) -> None:
    n = pairs_needed(d, 1.0, alpha, power)
    assert power_at(n, d, 1.0, alpha) >= power
    assert n == 2 or power_at(n - 1, d, 1.0, alpha) < power


@given(st.integers(2, 500), st.floats(0.001, 0.5))
def test_without_an_effect_the_power_is_the_level(n: int, alpha: float) -> None:
    assert power_at(n, 0.0, 1.0, alpha) == pytest.approx(alpha, rel=1e-6)


@given(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
def test_shifting_tau_shifts_the_effect_and_nothing_else(tau: float, shift: float) -> None:
    scores = Scores(np.array([0.9, 0.6, 0.7]), np.array([0.5, 0.5, 0.2]), np.ones(3, np.int64))
    before, after = effect_of(scores, tau), effect_of(scores, tau + shift)
    assert before.effect - after.effect == pytest.approx(shift, abs=1e-12)
    assert before.deviation == after.deviation == pytest.approx(np.std([0.4, 0.1, 0.5], ddof=1))


def test_without_scatter_the_sign_decides() -> None:
    assert [power_at(5, effect, 0.0) for effect in (0.1, 0.0, -0.1)] == [1.0, 0.0, 0.0]
    assert pairs_needed(0.1, 0.0) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power_at(1, 0.1, 1.0), "n is 1"),
        (lambda: power_at(2.5, 0.1, 1.0), "n is 2.5"),  # type: ignore[arg-type]
        (lambda: power_at(5, math.nan, 1.0), "effect"),
        (lambda: power_at(5, 0.1, -1.0), "deviation"),
        (lambda: power_at(5, 0.1, math.inf), "deviation"),
        (lambda: power_at(5, 0.1, 1.0, 1.0), "alpha"),
        (lambda: pairs_needed(0.0, 1.0), "not above zero"),
        (lambda: pairs_needed(-0.1, 1.0), "not above zero"),
        (lambda: pairs_needed(0.1, 1.0, 0.05, 1.0), "power"),
        (lambda: pairs_needed(1e-8, 1.0), "needs over"),
        (lambda: effect_of(Scores(np.ones(1), np.ones(1), np.ones(1, np.int64))), "at least 2 pairs"),
        (lambda: effect_of(Scores(np.ones(2), np.ones(2), np.ones(2, np.int64)), math.nan), "tau"),
    ],
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        call()
