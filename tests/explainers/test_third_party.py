import sys
import warnings
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from cfmark.data import Dataset, Feature, Schema, from_table, load
from cfmark.errors import MissingExtra, ModelError, TableError
from cfmark.evaluation import quality
from cfmark.explainers import explain
from cfmark.explainers.third_party import Generator, from_dice_ml, from_function
from cfmark.models import adapt
from cfmark.types import Explanations, IntArray, predict

QUERIES = 20
SCHEMA = Schema(
    (
        Feature("share", low=0, high=1, precision=0.01),
        Feature("amount", "integer", low=0, high=100, precision=5, special=(-10,), special_fixed=True),
        Feature("age", "integer", low=20, high=60, precision=1, immutable=True),
        Feature("spent", "integer", low=0, high=9, precision=1, special=(-1,)),
        Feature("group", "categorical", categories=("a", "b", "c")),
    ),
    target="y",
)


def steep(rows: pd.DataFrame) -> "pd.Series[float]":
    """Say that a row with a share above .5 is of class 1."""
    return (rows["share"] > 0.5).astype(float)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    random = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "share": random.choice([*range(1, 50), *range(51, 100)], 120) / 100,
            "amount": random.choice([-10, *range(0, 101, 5)], 120),
            "age": random.integers(20, 61, 120),
            "spent": random.integers(-1, 10, 120),
            "group": random.choice(["a", "b", "c"], 120),
        }
    )
    table["y"] = (table["share"] > 0.5).astype(int)
    return from_table("mine", table, SCHEMA)


def mirrored(queries: pd.DataFrame, target: IntArray, seed: int) -> pd.DataFrame:
    """Answer with the share on the other side."""
    return queries.assign(share=1 - queries["share"])


def asked(dataset: Dataset, generate: Generator, n_cfs: int = 1) -> Explanations:
    explainer = from_function(generate, dataset, adapt(steep, dataset), n_cfs)
    return explain(jax.random.key(0), explainer, dataset.query.x[:QUERIES])


def served(dataset: Dataset, explanations: Explanations) -> pd.DataFrame:
    return dataset.encoder.decode(explanations.cf[explanations.found])


def changing(**columns: Any) -> Generator:
    """Return the right generator with other columns: values, or functions of the queries."""

    def generate(queries: pd.DataFrame, target: IntArray, seed: int) -> pd.DataFrame:
        values = {name: value(queries) if callable(value) else value for name, value in columns.items()}
        return mirrored(queries, target, seed).assign(**values)

    return generate


def test_right_answers_are_found(dataset: Dataset) -> None:
    explanations = asked(dataset, mirrored)
    assert explanations.found.all()
    queries = dataset.encoder.decode(explanations.x)
    pd.testing.assert_frame_equal(served(dataset, explanations), mirrored(queries, explanations.target, 0))
    measured = quality(explanations, dataset.encoder, adapt(steep, dataset))
    assert (measured.validity, measured.violations) == (1, 0)


def test_the_generator_gets_the_tables_own_units_and_each_query_once(dataset: Dataset) -> None:
    seen: list[pd.DataFrame] = []

    def watched(queries: pd.DataFrame, target: IntArray, seed: int) -> pd.DataFrame:
        seen.append(queries)
        assert (target == (queries["share"] < 0.5)).all()
        return mirrored(queries, target, seed)

    x = dataset.query.x[[0, 1, 0, 2, 1]]
    explanations = explain(jax.random.key(0), from_function(watched, dataset, adapt(steep, dataset)), x)
    (queries,) = seen
    pd.testing.assert_frame_equal(queries, dataset.encoder.decode(dataset.query.x[:3]))
    np.testing.assert_array_equal(explanations.cf[0], explanations.cf[2])
    np.testing.assert_allclose(explanations.cf[:, 0, 0], 1 - x[:, 0], atol=1e-6)


def test_the_seed_is_the_keys(dataset: Dataset) -> None:
    def random(queries: pd.DataFrame, target: IntArray, seed: int) -> pd.DataFrame:
        shares = np.random.default_rng(seed).integers(51, 100, len(queries)) / 100
        return queries.assign(share=np.where(target == 1, shares, 1 - shares))

    explainer = from_function(random, dataset, adapt(steep, dataset))
    first, again, other = (
        explain(jax.random.key(k), explainer, dataset.query.x[:QUERIES]).cf for k in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_what_is_out_of_bounds_is_brought_inside(dataset: Dataset) -> None:
    far = changing(share=lambda q: np.where(q["share"] < 0.5, 1e12, -np.inf), amount=4_000)
    explanations = asked(dataset, far)
    table = served(dataset, explanations)
    assert len(table) == QUERIES
    assert set(table["share"]) == {0.0, 1.0}
    coded = dataset.encoder.decode(explanations.x)["amount"] == -10
    np.testing.assert_array_equal(table["amount"], np.where(coded, -10, 100))


def test_what_is_off_the_grid_is_served_on_it(dataset: Dataset) -> None:
    off = changing(share=lambda q: np.where(q["share"] < 0.5, 0.61234, 0.38766), amount=42.4)
    explanations = asked(dataset, off)
    table = served(dataset, explanations)
    assert set(table["share"]) == {0.61, 0.39}
    assert set(table["amount"]) == {40, -10}
    assert quality(explanations, dataset.encoder, adapt(steep, dataset)).violations == 0


def test_what_may_not_change_does_not(dataset: Dataset) -> None:
    explanations = asked(dataset, changing(age=20, group="c"))
    table, queries = served(dataset, explanations), dataset.encoder.decode(explanations.x)
    assert (table["age"] == queries["age"]).all()
    assert (table["group"] == "c").all()


def test_a_row_of_nan_is_not_found(dataset: Dataset) -> None:
    def some(queries: pd.DataFrame, target: IntArray, seed: int) -> pd.DataFrame:
        answers = mirrored(queries, target, seed)
        answers.loc[::2] = np.nan
        answers.loc[1, "group"] = None
        return answers.assign(note=np.nan)

    explanations = asked(dataset, some)
    found = np.arange(QUERIES) % 2 == 1
    found[1] = False
    np.testing.assert_array_equal(explanations.found[:, 0], found)
    assert (explanations.cf[~explanations.found] == 0).all()
    none = asked(dataset, lambda queries, target, seed: queries.map(lambda _: np.nan))
    assert not none.found.any()


def test_a_query_is_not_its_own_answer(dataset: Dataset) -> None:
    """Where a query is of the class it asks for, a row of NaN must not stand for the query itself."""
    explainer = from_function(lambda q, t, s: q.map(lambda _: np.nan), dataset, adapt(steep, dataset))
    x = dataset.query.x[:QUERIES]
    explanations = explain(jax.random.key(0), explainer, x, target=predict(explainer.classifier, x))
    assert not explanations.found.any()


def test_an_answer_of_the_wrong_class_is_not_found(dataset: Dataset) -> None:
    assert not asked(dataset, lambda queries, target, seed: queries).found.any()


def test_several_answers_a_query_stand_together(dataset: Dataset) -> None:
    def twice(queries: pd.DataFrame, target: IntArray, seed: int) -> pd.DataFrame:
        answers = mirrored(queries, target, seed)
        answers = answers.loc[answers.index.repeat(2)]
        return answers.assign(amount=[0, 50] * len(queries))

    explanations = asked(dataset, twice, n_cfs=2)
    free = dataset.encoder.decode(explanations.x)["amount"].to_numpy() != -10
    assert explanations.found[free].all()
    amounts = dataset.encoder.decode(explanations.cf[free].reshape(-1, dataset.width))["amount"]
    assert amounts.tolist() == [0, 50] * int(free.sum())
    assert not explanations.found[~free, 1].any(), "a code stays, so the second answer is the first again"


@pytest.mark.parametrize(
    ("generate", "kind", "message"),
    [
        (
            lambda q, t, s: q.iloc[1:],
            ModelError,
            "gave 19 rows to 20 queries; 20 are needed, a row of NaN where",
        ),
        (lambda q, t, s: q.iloc[:0], ModelError, "gave 0 rows to 20 queries"),
        (lambda q, t, s: q.drop(columns=["age", "group"]), ModelError, "no column 'age', 'group'"),
        (lambda q, t, s: q.to_numpy(), ModelError, "gave a ndarray; a DataFrame is needed"),
        (changing(amount="lots"), TableError, "generator, row 1, column 'amount': 'lots' is not a number"),
        (changing(group="z"), TableError, "generator, row 1, column 'group': 'z' is not one of a, b, c"),
    ],
)
def test_what_is_no_answer_is_an_error(
    generate: Generator, kind: type[Exception], message: str, dataset: Dataset
) -> None:
    with pytest.raises(kind, match=message):
        asked(dataset, generate)


@pytest.mark.dice
@pytest.mark.parametrize(("method", "n_cfs"), [("random", 2), ("genetic", 1)])
def test_dice_ml(method: str, n_cfs: int) -> None:
    pytest.importorskip("dice_ml", reason="dice-ml is not installed: pip install 'cfmark[dice]'")
    dataset = load("synthetic", rows=300)
    hot = make_column_transformer((OneHotEncoder(), ["group"]), remainder="passthrough")
    model = make_pipeline(hot, LogisticRegression()).fit(
        dataset.encoder.decode(dataset.train.x), dataset.train.y
    )
    classifier = adapt(model, dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = from_dice_ml(model, dataset, classifier, method, n_cfs)
        explanations = explain(jax.random.key(0), explainer, dataset.query.x[:4])
    assert explanations.found.shape == (4, n_cfs)
    measured = quality(explanations, dataset.encoder, classifier)
    assert measured.found == measured.validity >= 0.75
    assert measured.violations == 0


@pytest.mark.dice
def test_a_row_for_which_dice_ml_has_nothing_is_not_found() -> None:
    pytest.importorskip("dice_ml", reason="dice-ml is not installed: pip install 'cfmark[dice]'")
    dataset = load("synthetic", rows=300)

    class Stubborn:
        """Knows one class only."""

        classes_ = np.array([0, 1])

        def predict_proba(self, rows: pd.DataFrame) -> Any:
            return np.tile([0.9, 0.1], (len(rows), 1))

        def predict(self, rows: pd.DataFrame) -> Any:
            return np.zeros(len(rows), int)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = from_dice_ml(Stubborn(), dataset, adapt(Stubborn(), dataset))
        explanations = explain(jax.random.key(0), explainer, dataset.query.x[:1])
    assert not explanations.found.any()


def test_without_dice_ml_the_error_names_the_extra(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dice_ml", None)
    with pytest.raises(MissingExtra, match=r"package 'dice_ml': pip install 'cfmark\[dice\]'"):
        from_dice_ml(None, dataset, adapt(steep, dataset))
