"""Counting right and wrong accusations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from cfmark.errors import ConfigError
from cfmark.verification import Confusion, confusion


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_the_counts_and_shares_are_those_of_scikit_learn(suspects: list[tuple[bool, bool]]) -> None:
    flagged, guilty = map(list, zip(*suspects, strict=True))
    ours = confusion(flagged, guilty)
    tn, fp, fn, tp = metrics.confusion_matrix(guilty, flagged, labels=[False, True]).ravel()
    assert ours == (tp, fn, fp, tn)
    assert ours.precision == pytest.approx(metrics.precision_score(guilty, flagged, zero_division=0))
    assert ours.recall == pytest.approx(metrics.recall_score(guilty, flagged, zero_division=0))
    assert ours.f1 == pytest.approx(metrics.f1_score(guilty, flagged, zero_division=0))


def test_flagging_everybody_among_100_guilty_and_50_innocent_is_080() -> None:
    counted = confusion(np.ones(150, bool), np.arange(150) < 100)
    assert (counted, counted.f1) == (Confusion(100, 0, 50, 0), 0.8)


def test_nobody_flagged_is_zero_and_not_an_error() -> None:
    counted = confusion(np.zeros(3, bool), [True, True, False])
    assert (counted.precision, counted.recall, counted.f1) == (0.0, 0.0, 0.0)
    assert confusion([], []) == Confusion(0, 0, 0, 0)
    assert confusion([], []).f1 == 0.0


@pytest.mark.parametrize(
    ("flagged", "guilty"),
    [([True], [True, False]), ([1, 0], [True, False]), ([[True]], [[True]]), ([0.01], [True]), (True, True)],
)
def test_what_are_no_lists_of_truth_values_is_refused(flagged: Any, guilty: Any) -> None:
    with pytest.raises(ConfigError):
        confusion(flagged, guilty)
