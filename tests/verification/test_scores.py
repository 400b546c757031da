"""Asking a suspect: which points, which class, in which order, and what a bad answer gets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfmark.errors import ConfigError, ModelError
from cfmark.seeds import derive_seed
from cfmark.types import MarkedExplanations
from cfmark.verification import Scores, sample_pairs, score
from cfmark.verification.scores import moments

WIDTH = 3


class Suspect:
    """Answers by a rule, and remembers what it was asked."""

    def __init__(self, rule: Callable[[Any], Any]) -> None:
        self.rule, self.asked = rule, []

    def predict_proba(self, x: Any) -> Any:
        self.asked.append(x.copy())
        return self.rule(x)


def smooth(x: Any) -> Any:
    p = 1 / (1 + np.exp(-(x @ np.arange(1, x.shape[1] + 1) - 3)))
    return np.stack([1 - p, p], axis=1)


def made(n: int = 12, m: int = 2, *axes: int) -> MarkedExplanations:
    rng = np.random.default_rng(derive_seed("pairs", n, m, *axes))
    found = rng.random((n, m)) < 0.8
    paired = found & (rng.random((n, m)) < 0.8)
    found[0, 0] = paired[0, 0] = found[1, 0] = paired[1, 0] = True
    issued, counterpart = (rng.random((n, m, WIDTH), np.float32) for _ in range(2))
    return MarkedExplanations(
        rng.random((n, WIDTH), np.float32), issued, counterpart, found, paired, rng.integers(0, 2, n)
    )


@given(st.integers(2, 20), st.integers(1, 4), st.integers(0, 50))
def test_every_pair_gets_the_probability_of_its_own_target(n: int, m: int, seed: int) -> None:
    pairs = made(n, m, seed)
    scores = score(Suspect(smooth), pairs)
    expected = [
        (smooth(pairs.issued[i, j : j + 1])[0, t], smooth(pairs.counterpart[i, j : j + 1])[0, t], t)
        for i, t in enumerate(pairs.target)
        for j in range(m)
        if pairs.paired[i, j]
    ]
    np.testing.assert_allclose(np.stack(scores, axis=1), expected, rtol=1e-6)


def test_the_class_is_the_target_although_the_suspect_prefers_the_other() -> None:
    pairs = made()._replace(target=np.zeros(12, np.int64))
    scores = score(Suspect(lambda x: np.tile([0.1, 0.9], (len(x), 1))), pairs)
    assert (scores.issued == 0.1).all()


def test_one_call_asks_both_points_of_the_drawn_pairs_and_nothing_else() -> None:
    pairs, suspect = made(40), Suspect(smooth)
    score(suspect, pairs, size=10, rng=np.random.default_rng(derive_seed("draw")))
    (asked,) = suspect.asked
    assert asked.shape == (20, WIDTH)
    there = {
        tuple(row) for row in np.concatenate([pairs.issued[pairs.paired], pairs.counterpart[pairs.paired]])
    }
    assert {tuple(row) for row in asked} <= there


def test_questions_do_not_tell_which_point_was_issued() -> None:
    pairs = made(30)
    coin = np.random.default_rng(derive_seed("coin")).random((30, 2, 1)) < 0.5
    swapped = pairs._replace(
        issued=np.where(coin, pairs.counterpart, pairs.issued),
        counterpart=np.where(coin, pairs.issued, pairs.counterpart),
    )
    one, other = Suspect(smooth), Suspect(smooth)
    before, after = score(one, pairs), score(other, swapped)
    np.testing.assert_array_equal(one.asked[0], other.asked[0])
    sign = np.where(coin[:, :, 0], -1, 1)[pairs.paired]
    np.testing.assert_array_equal(before.difference, sign * after.difference)
    assert (sign == -1).any()


def test_a_point_that_comes_twice_is_asked_once() -> None:
    pairs, suspect = made(5, 1), Suspect(smooth)
    pairs.issued[:] = pairs.issued[0]
    scores = score(suspect, pairs)
    assert len(suspect.asked[0]) == len(scores.target) + 1
    np.testing.assert_allclose(scores.issued, smooth(pairs.issued[0])[0, scores.target])


def test_a_draw_is_without_replacement_and_repeatable() -> None:
    pairs = made(40)
    draws = [sample_pairs(pairs, 20, np.random.default_rng(derive_seed("draw", i))).paired for i in (1, 1, 2)]
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()
    assert draws[0].sum() == 20
    assert not (draws[0] & ~pairs.paired).any()
    whole = sample_pairs(pairs, int(pairs.paired.sum()), np.random.default_rng(derive_seed("draw", 3)))
    np.testing.assert_array_equal(whole.paired, pairs.paired)


def test_every_pair_is_drawn_equally_often() -> None:
    pairs, rng = made(10, 1), np.random.default_rng(derive_seed("draw", "equally"))
    drawn = sum(sample_pairs(pairs, 3, rng).paired.astype(int) for _ in range(3000))[pairs.paired]
    expected = 3000 * 3 / pairs.paired.sum()
    assert np.abs(drawn - expected).max() < 5 * np.sqrt(expected)


def broken(x: Any) -> Any:
    raise RuntimeError("no connection")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda x: smooth(x)[:, 1], "shape"),
        (lambda x: smooth(x)[:-1], "shape"),
        (lambda x: smooth(x) * np.nan, "not finite"),
        (lambda x: np.full((len(x), 2), np.inf), "not finite"),
        (lambda x: np.tile([-0.5, 1.5], (len(x), 1)), "0 to 1 is needed"),
        (lambda x: np.tile([0.4, 0.4], (len(x), 1)), "misses 1 by 0.2"),
        (lambda x: [["a", "b"]] * len(x), "not numbers"),
        (lambda x: [[0.5, 0.5]] * (len(x) - 1) + [[1]], "not numbers"),
        (lambda x: smooth(x) * 1j, "not numbers"),
        (lambda x: None, "not numbers"),
        (broken, "no connection"),
    ],
)
def test_a_bad_answer_is_a_model_error(rule: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        score(Suspect(rule), made())


def test_a_suspect_without_predict_proba_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="predict_proba"):
        score(object(), made())  # type: ignore[arg-type]


def test_a_hard_classifier_of_whole_numbers_can_be_asked() -> None:
    scores = score(Suspect(lambda x: (smooth(x) > 0.5).astype(np.int64)), made())
    assert set(np.unique(scores.difference)) <= {-1.0, 0.0, 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"paired": np.zeros((12, 2), np.bool_)}, "no pair"),
        ({"paired": np.ones((12, 2))}, "truth values"),
        ({"paired": np.ones((12, 1), np.bool_)}, "truth values"),
        ({"found": np.zeros((12, 2), np.bool_)}, "not found"),
        ({"found": np.zeros((3, 2), np.bool_)}, "truth values"),
        ({"counterpart": np.zeros((12, 2, WIDTH + 1), np.float32)}, r"\(n, m, d\)"),
        ({"issued": np.zeros((12, WIDTH), np.float32)}, r"\(n, m, d\)"),
        ({"counterpart": np.full((12, 2, WIDTH), np.nan, np.float32)}, "not finite"),
        ({"target": np.full(12, 2)}, "0 or 1"),
        ({"target": np.zeros(3, np.int64)}, "12 classes"),
    ],
)
def test_bad_pairs_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        score(Suspect(smooth), made()._replace(**changes))


@pytest.mark.parametrize("size", [0, -1, 10_000, 2.5, True, "3"])
def test_a_number_of_pairs_that_cannot_be_drawn_is_refused(size: Any) -> None:
    with pytest.raises(ConfigError, match="pairs"):
        score(Suspect(smooth), made(), size=size, rng=np.random.default_rng(derive_seed("draw")))


def test_a_draw_needs_its_generator_and_a_generator_its_size() -> None:
    with pytest.raises(ConfigError, match="belong together"):
        score(Suspect(smooth), made(), size=3)
    with pytest.raises(ConfigError, match="belong together"):
        score(Suspect(smooth), made(), rng=np.random.default_rng(derive_seed("draw")))


@pytest.mark.parametrize(
    ("issued", "counterpart"),
    [([0.5, np.nan], [0.5, 0.5]), ([0.5, 1.5], [0.5, 0.5]), ([0.5], [0.5, 0.5]), ([[0.5]], [[0.5]])],
)
def test_scores_that_are_no_probabilities_of_pairs_are_refused(
    issued: list[Any], counterpart: list[Any]
) -> None:
    scores = Scores(np.array(issued), np.array(counterpart), np.ones(2, np.int64))
    with pytest.raises(ModelError, match="scores"):
        _ = scores.difference


def test_moments_have_n_minus_one_in_the_variance() -> None:
    scores = Scores(np.array([0.5, 0.75, 1.0]), np.array([0.5, 0.5, 0.5]), np.ones(3, np.int64))
    assert moments(scores) == (3, 0.25, 0.25)
