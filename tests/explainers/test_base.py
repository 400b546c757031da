from dataclasses import dataclass

import jax
import numpy as np
import pytest

import trained
from cfmark.errors import ConfigError, ModelError
from cfmark.explainers import explain, fit_explainer
from cfmark.explainers.base import LARGE, MEDIUM, SMALL, batches
from cfmark.types import BoolArray, Classifier, FloatArray, IntArray, predict


@dataclass(frozen=True)
class Scripted:
    """Answers with given rows, and says that all are found."""

    classifier: Classifier
    cf: FloatArray

    def search(self, keys: jax.Array, x: FloatArray, target: IntArray) -> tuple[FloatArray, BoolArray]:
        assert len(keys) == len(x) == len(target)
        assert len(x) in (SMALL, MEDIUM, LARGE)
        cf = np.resize(self.cf, (len(x), *self.cf.shape[1:]))
        return cf, np.ones(cf.shape[:2], bool)


def rows_of_class(label: int, count: int) -> FloatArray:
    x = trained.dataset("cancer").train.x
    chosen: FloatArray = x[predict(trained.classifier("cancer"), x) == label][:count]
    return chosen


def test_answers_of_the_wrong_class_are_not_found() -> None:
    x, right, wrong = rows_of_class(0, 2), rows_of_class(1, 1), rows_of_class(0, 9)[-1:]
    script = Scripted(trained.classifier("cancer"), np.stack([right, wrong]))
    result = explain(jax.random.key(0), script, x)
    assert result.target.tolist() == [1, 1]
    assert result.found[:, 0].tolist() == [True, False]
    np.testing.assert_array_equal(result.cf[0], right)
    assert not result.cf[1].any()


def test_an_answer_that_stands_twice_counts_once() -> None:
    one, two = rows_of_class(1, 2)
    script = Scripted(trained.classifier("cancer"), np.stack([[one, one, two, one]]))
    result = explain(jax.random.key(0), script, rows_of_class(0, 1))
    assert result.found.tolist() == [[True, False, True, False]]


def test_values_that_are_not_finite_stop_the_run() -> None:
    script = Scripted(trained.classifier("cancer"), np.full((1, 1, 30), np.nan, np.float32))
    with pytest.raises(ModelError, match="not finite"):
        explain(jax.random.key(0), script, rows_of_class(0, 1))


def test_a_given_target_is_asked_for() -> None:
    script = Scripted(trained.classifier("cancer"), rows_of_class(0, 1)[None])
    x = rows_of_class(0, 3)
    assert not explain(jax.random.key(0), script, x).found.any()
    chosen = explain(jax.random.key(0), script, x, target=np.zeros(3, np.int64))
    assert chosen.found.all()
    listed = explain(jax.random.key(0), script, x, target=[0, 0, 0])  # type: ignore[arg-type]
    np.testing.assert_array_equal(listed.cf, chosen.cf)


@pytest.mark.parametrize("target", [np.zeros(2, int), np.zeros((3, 1), int), np.array([0, 1, 2])])
def test_a_target_that_does_not_fit(target: IntArray) -> None:
    script = Scripted(trained.classifier("cancer"), rows_of_class(0, 1)[None])
    with pytest.raises(ConfigError, match="for each of the 3 queries"):
        explain(jax.random.key(0), script, rows_of_class(0, 3), target=target)


@pytest.mark.parametrize("rows", [0, 1, 16, 17, 512, 513, 1024, 1025, 5000])
def test_batches_cover_every_row_once(rows: int) -> None:
    pieces = list(batches(rows))
    assert [row for start, stop in pieces for row in range(start, stop)] == list(range(rows))
    assert all(stop - start <= LARGE for start, stop in pieces)


def test_methods_by_name() -> None:
    data, model = trained.dataset("cancer"), trained.classifier("cancer")
    key = jax.random.key(0)
    with pytest.raises(ConfigError, match="no method 'dicey'; the methods are growing_sphere, dice, cchvae"):
        fit_explainer(key, "dicey", data, model)
    with pytest.raises(ConfigError, match=r"growing_sphere: .*radius"):
        fit_explainer(key, "growing_sphere", data, model, radius=3)
    assert fit_explainer(key, "growing_sphere", data, model, n_cfs=2).config.n_cfs == 2  # type: ignore[attr-defined]
