import numpy as np
import pytest

from attacks.fakes import Fake, opposite, probabilities, rows
from cfmark.attacks import ATTACKS, Labels, attacked, dual_cf, mrce, query, with_labels
from cfmark.errors import ConfigError

X = rows(16)


def test_query_gathers_answers_alone() -> None:
    fake = Fake()
    got = query(fake.service(), X)
    np.testing.assert_array_equal(got.x, X)
    np.testing.assert_array_equal(got.y, probabilities(X))
    assert (got.kind == 0).all()
    assert [name for name, _ in fake.calls] == ["predict"]
    assert got.requests == 16


def test_mrce_gathers_queries_and_what_is_issued_for_them() -> None:
    fake = Fake()
    got = mrce(fake.service(), X)
    np.testing.assert_array_equal(got.x, np.concatenate([X, opposite(X)]))
    np.testing.assert_array_equal(got.y, probabilities(got.x))
    assert got.kind.tolist() == [0] * 16 + [1] * 16
    assert got.source.tolist() == [*range(16), *range(16)]
    np.testing.assert_array_equal(fake.sent("explain"), X)
    assert got.requests == len(fake.sent("predict")) + len(fake.sent("explain")) == 48


def test_dual_cf_gathers_what_is_issued_for_what_was_issued() -> None:
    fake = Fake()
    got = dual_cf(fake.service(), X)
    first = opposite(X)
    np.testing.assert_array_equal(got.x, np.concatenate([first, opposite(first)]))
    np.testing.assert_array_equal(got.y, probabilities(got.x))
    assert got.kind.tolist() == [1] * 16 + [2] * 16
    np.testing.assert_array_equal(fake.sent("explain"), np.concatenate([X, first]))
    # The mark is in both answers: twice in the second, which was asked for a marked row.
    np.testing.assert_allclose(got.x[16:], X + 0.002, atol=1e-6)
    assert got.requests == len(fake.sent("predict")) + len(fake.sent("explain")) == 64


def test_all_counterfactuals_of_a_query_are_used() -> None:
    got = mrce(Fake(n_cfs=3).service(), X)
    assert got.kind.tolist() == [0] * 16 + [1] * 48
    assert got.source[16:].tolist() == np.repeat(np.arange(16), 3).tolist()
    np.testing.assert_array_equal(got.x[16 + 5], opposite(X, 2)[1])
    dual = dual_cf(Fake(n_cfs=3).service(), X)
    assert dual.kind.tolist() == [1] * 48 + [2] * 144
    assert (np.bincount(dual.source) == 12).all()
    np.testing.assert_array_equal(dual.x[48 + 4], opposite(opposite(X, 1), 1)[0])


def test_what_is_not_found_is_no_row() -> None:
    bar = float(np.median(X[:, 2]))
    there = np.flatnonzero(X[:, 2] >= bar)
    got = mrce(Fake(bar=bar).service(), X)
    assert len(there) == 8
    np.testing.assert_array_equal(got.x[16:], opposite(X[there]))
    assert got.source[16:].tolist() == there.tolist()
    assert got.requests == 16 + 16 + 8


@pytest.mark.parametrize("labels", ["soft", "hard", "opposite"])
def test_nothing_found(labels: Labels) -> None:
    fake = Fake(bar=2.0)
    got = attacked("mrce", fake.service(), X, labels)
    assert (got.kind == 0).all()
    assert len(got.x) == (8 if labels == "opposite" else 16)
    none = attacked("dual_cf", Fake(bar=2.0).service(), X, labels)
    assert none.x.shape == (0, 4)
    assert none.y.shape == (0, 2)
    assert len(none.kind) == len(none.source) == 0


@pytest.mark.parametrize("attack", ATTACKS)
def test_hard_labels_are_the_classes_of_the_soft_ones(attack: str) -> None:
    soft = attacked(attack, Fake().service(), X, "soft")
    hard = attacked(attack, Fake().service(), X, "hard")
    assert set(hard.y.ravel().tolist()) == {0.0, 1.0}
    np.testing.assert_array_equal(hard.y.argmax(axis=1), soft.y.argmax(axis=1))
    np.testing.assert_array_equal(hard.x, soft.x)
    np.testing.assert_array_equal(with_labels(soft, "soft").y, soft.y)


def test_the_papers_mrce_asks_about_half_and_assumes_the_rest() -> None:
    fake = Fake(n_cfs=2)
    got = attacked("mrce", fake.service(), X, "opposite")
    half = X[:8]
    np.testing.assert_array_equal(fake.sent("predict"), half)
    np.testing.assert_array_equal(fake.sent("explain"), half)
    np.testing.assert_array_equal(got.y[:8], probabilities(half))
    np.testing.assert_allclose(got.y[8:], np.repeat(1 - probabilities(half), 2, axis=0), atol=1e-6)
    assert got.requests == 16


def test_the_papers_dual_cf_assumes_both_classes() -> None:
    bar = float(np.sort(X[:8, 2])[2])
    fake = Fake(bar=bar)
    got = attacked("dual_cf", fake.service(), X, "opposite")
    half = X[:8]
    there = np.flatnonzero(half[:, 2] >= bar)
    first, second = got.kind == 1, got.kind == 2
    np.testing.assert_array_equal(fake.sent("predict"), half)
    assert got.source[first].tolist() == got.source[second].tolist() == there.tolist()
    np.testing.assert_allclose(got.y[first], 1 - probabilities(half)[there], atol=1e-6)
    np.testing.assert_array_equal(got.y[second], probabilities(half)[there])
    assert got.requests == len(fake.sent("predict")) + len(fake.sent("explain")) == 8 + 8 + 6


def test_query_has_nothing_to_assume() -> None:
    got = attacked("query", Fake().service(), X, "opposite")
    np.testing.assert_array_equal(got.x, X)
    np.testing.assert_array_equal(got.y, probabilities(X))


def test_refused() -> None:
    with pytest.raises(ConfigError, match="no attack 'steal'"):
        attacked("steal", Fake().service(), X)
    with pytest.raises(ConfigError, match="'fuzzy' are not one of soft, hard"):
        attacked("mrce", Fake().service(), X, "fuzzy")
    with pytest.raises(ConfigError, match="assumed while gathering"):
        with_labels(query(Fake().service(), X), "opposite")
