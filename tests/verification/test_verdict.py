"""A verdict: exact as JSON, refused when it contradicts itself, readable by people."""

import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfmark.errors import ConfigError
from cfmark.verification import Interval, Scores, Verdict, calibrated_test, t_test

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
DETAILS = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    low, high = sorted([draw(st.floats(-1, 1)), draw(st.floats(-1, 1))])
    return Verdict(
        test=draw(st.text(min_size=1, max_size=5)),
        null=draw(st.text(min_size=1)),
        statistic=draw(st.none() | NUMBERS),
        p_value=draw(st.floats(0, 1)),
        effect=draw(st.floats(-1, 1)),
        interval=Interval(low, high, draw(st.floats(0.01, 0.99)), draw(st.sampled_from([1, 2]))),
        n=draw(st.integers(1, 10**6)),
        tau=draw(st.none() | NUMBERS),
        alpha=draw(st.floats(1e-6, 0.99)),
        assumptions=tuple(draw(st.lists(st.text(min_size=1), max_size=3))),
        details=draw(st.dictionaries(st.text(max_size=5), DETAILS, max_size=3)),
    )


def found(d: list[float] | None = None) -> Verdict:
    d = d or [0.1, 0.2, 0.3, 0.15]
    return t_test(Scores(0.5 + np.array(d), np.full(len(d), 0.5), np.ones(len(d), np.int64)), 0.05)


@given(verdicts())
def test_json_gives_the_same_verdict_back_to_the_last_bit(verdict: Verdict) -> None:
    again = Verdict.from_json(verdict.to_json())
    assert again == verdict
    assert again.to_json() == verdict.to_json()
    assert again.in_words() == verdict.in_words()
    assert pickle.loads(pickle.dumps(verdict)) == verdict


def test_real_verdicts_survive_json_too() -> None:
    scores = Scores(np.array([0.9, 0.7]), np.array([0.5, 0.5]), np.ones(2, np.int64))
    for verdict in (found(), t_test(scores), calibrated_test(scores, {"queries only": np.zeros(19)})):
        assert Verdict.from_json(verdict.to_json()) == verdict


def test_flagged_is_at_alpha_and_below() -> None:
    at = replace(found(), p_value=0.05, alpha=0.05)
    assert at.flagged
    assert not replace(at, p_value=math.nextafter(0.05, 1)).flagged


FIELDS = sorted(json.loads(found().to_json()))


@pytest.mark.parametrize("name", FIELDS)
def test_a_missing_field_is_named(name: str) -> None:
    values = json.loads(found().to_json())
    del values[name]
    with pytest.raises(ConfigError, match=f"missing fields \\['{name}'\\]"):
        Verdict.from_json(json.dumps(values))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": 1}, r"unknown fields \['colour'\]"),
        ({"p_value": math.nan}, "NaN is not a number"),
        ({"statistic": math.inf}, "Infinity is not a number"),
        ({"details": {"a": -math.inf}}, "-Infinity is not a number"),
        ({"p_value": 1.5}, "p_value"),
        ({"p_value": "0.01"}, "p_value"),
        ({"p_value": True}, "p_value"),
        ({"p_value": None}, "p_value"),
        ({"statistic": 10**400}, "statistic"),
        ({"effect": 2}, "effect"),
        ({"n": 0}, "n is 0"),
        ({"n": 3.5}, "n is 3.5"),
        ({"alpha": 0}, "alpha"),
        ({"tau": []}, "tau"),
        ({"test": ""}, "test"),
        ({"null": 3}, "null"),
        ({"assumptions": "all well"}, "assumptions"),
        ({"assumptions": [1]}, "assumption"),
        ({"details": []}, "details"),
        ({"flagged": False}, "flagged is False"),
        ({"flagged": 1}, "flagged is 1"),
        ({"interval": [0, 1, 0.95, 1]}, "interval"),
        ({"interval": {"low": 0, "high": 1, "level": 0.95}}, r"missing fields \['sides'\]"),
        ({"interval": {"low": 0.5, "high": 0, "level": 0.95, "sides": 1}}, "upside down"),
        ({"interval": {"low": 0, "high": 1, "level": 0.95, "sides": 3}}, "sides"),
        ({"interval": {"low": 0, "high": 1, "level": 95, "sides": 1}}, "level"),
        ({"interval": {"low": None, "high": 1, "level": 0.95, "sides": 1}}, "low"),
    ],
)
def test_a_verdict_that_was_tampered_with_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Verdict.from_json(json.dumps(json.loads(found().to_json()) | changes))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", '{"n": 1, "n": 2}', "[" * 100_000])
def test_what_is_no_verdict_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="verdict"):
        Verdict.from_json(text)


def test_a_number_too_large_for_a_float_is_refused() -> None:
    text = found().to_json().replace('"tau": 0.05', '"tau": 1e999')
    with pytest.raises(ConfigError, match="tau is inf"):
        Verdict.from_json(text)


@pytest.mark.parametrize("details", [{"a": object()}, {"a": math.nan}, {"a": {1, 2}}, {1: "a", "1": "b"}, 3])
def test_details_that_json_cannot_hold_are_refused_at_once(details: Any) -> None:
    with pytest.raises(ConfigError, match=r"details|twice"):
        replace(found(), details=details)


def test_a_verdict_cannot_be_changed_from_outside() -> None:
    details = {"kinds": ["a"]}
    verdict = replace(found(), details=details)
    details["kinds"].append("b")
    assert verdict.details == {"kinds": ["a"]}
    with pytest.raises(FrozenInstanceError):
        verdict.p_value = 0.0  # type: ignore[misc]
    assert len({verdict, replace(verdict)}) == 1


def test_words_of_a_flagged_suspect() -> None:
    verdict = found()
    words = verdict.in_words()
    assert verdict.flagged
    for part in (
        "Test 't' at level 0.05, on 4 pairs",
        "at most tau = 0.05 higher",
        "on average 0.1875 higher",
        "with 95 % confidence (one-sided) the mean difference is at least",
        f"P-value: {verdict.p_value:.4g}.",
        "It is not the probability that the suspect is innocent.",
        "the hypothesis is rejected and the suspect is flagged",
        *verdict.assumptions,
    ):
        assert part in words
    assert str(verdict).startswith("t: flagged (p = 0.0")


def test_words_of_a_suspect_that_is_not_flagged() -> None:
    words = found([0.1, -0.2, -0.3, 0.15]).in_words()
    assert "on average 0.0625 lower" in words
    assert "not flagged. This is no proof of innocence" in words
    assert "rejected and the suspect is flagged" not in words


def test_words_of_the_other_shapes_a_verdict_may_take() -> None:
    verdict = replace(found(), interval=Interval(-0.25, 0.5, 0.99, 2), assumptions=(), p_value=0.0)
    words = verdict.in_words()
    assert "with 99 % confidence (two-sided) the mean difference is between -0.25 and 0.5" in words
    assert "P-value: below 1e-300." in words
    assert words.endswith("nothing further.")
