import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfmark.errors import ConfigError
from cfmark.verification import e_process, sign_flips

ratios = st.lists(st.floats(-50, 50), min_size=1, max_size=7)


@given(ratios, ratios)
def test_over_all_coins_the_evidence_has_mean_one(a: list[float], b: list[float]) -> None:
    k = min(len(a), len(b))
    families = {"a": a[:k], "b": b[:k]}
    values = [np.exp(e_process(families, sign).value) for sign in itertools.product([-1, 1], repeat=k)]
    assert np.mean(values) == pytest.approx(1, rel=1e-9)


def test_whenever_one_stops_the_innocent_are_flagged_at_most_alpha_often() -> None:
    random = np.random.default_rng(0)
    r = random.normal(0, 1.5, (2, 200))
    families = dict(zip("ab", r, strict=True))
    ever = [e_process(families, random.choice([-1, 1], 200)).first(0.05) is not None for _ in range(2_000)]
    assert np.mean(ever) <= 0.05 + 3 * (0.05 / 2_000) ** 0.5


def test_the_product_of_the_plain_likelihoods_is_no_such_process() -> None:
    """exp(sum s r) has a mean above 1: the check above would catch it."""
    r = np.array([1.0, 2.0])
    assert np.mean([np.exp(r @ sign) for sign in itertools.product([-1, 1], repeat=2)]) > 5


def test_evidence_grows_for_the_guilty() -> None:
    random = np.random.default_rng(1)
    sign = random.choice([-1, 1], 300)
    process = e_process({"g": sign * 0.5 + random.normal(0, 0.5, 300)}, sign)
    assert process.p_value < 1e-6
    first = process.first(0.01)
    assert first is not None
    assert process.log_e[first] >= np.log(100) > process.log_e[first - 1]
    assert process.log_e[0] == 0


def scores_after(first: int) -> list[float]:
    """Two queries of which the second is there because the first coin fell as it did.

    Whoever asks about the answer to the first query shows by it how that coin fell, so scores made from the
    whole list can know it: here the second counts nothing after heads and much after tails.
    """
    return [1.0, 0.0 if first == 1 else 4.0]


def test_adaptive_queries_break_sign_flips_but_not_the_e_process() -> None:
    coins = list(itertools.product([-1, 1], repeat=2))
    p = np.array([sign_flips({"g": scores_after(first)}, (first, second)).p_value for first, second in coins])
    assert (p <= 0.5).mean() == 0.75, "the flip test would be wrong three times in four at level one half"
    evidence = [e_process({"r": scores_after(first)}, (first, second)).value for first, second in coins]
    assert np.mean(np.exp(evidence)) == pytest.approx(1)


def test_without_its_adaptive_query_the_flip_test_keeps_its_level() -> None:
    p = np.array([sign_flips({"g": scores_after(first)[:1]}, (first,)).p_value for first in (-1, 1)])
    assert (p <= 0.5).mean() == 0.5


def test_what_is_no_process() -> None:
    with pytest.raises(ConfigError, match="at least one family"):
        e_process({}, [1])
    with pytest.raises(ConfigError, match="signs must be 2 numbers"):
        e_process({"a": [1.0], "b": [1.0, 2.0]}, [1])
