import time

import numpy as np
import pandas as pd
import pytest

from cfmark.data import BUILT_IN, Dataset, Feature, Schema, cache_folder, from_table, is_present, load
from cfmark.data.datasets import SHARES, synthetic
from cfmark.data.sources import FACTS, FILES
from cfmark.errors import CfmarkError, DatasetError, SchemaError, TableError

CASES = [(name, schema) for name in BUILT_IN for schema in ("paper", "actionable")]
CASES += [("mnist01", "paper"), ("synthetic", "paper")]
ALL = [
    pytest.param(name, schema, marks=[pytest.mark.files] if name in FILES else [])
    for name, schema in CASES
    if (name, schema) != ("loan", "paper")
]


def loaded(name: str, schema: str = "actionable", **options: int) -> Dataset:
    if not is_present(name):
        pytest.skip(f"the files of {name} are not in CFMARK_DATA")
    return load(name, schema, **options)


@pytest.mark.parametrize(("name", "schema"), ALL)
def test_what_is_loaded(name: str, schema: str) -> None:
    dataset = loaded(name, schema)
    splits = dataset.train, dataset.query, dataset.holdout
    total = sum(len(split.y) for split in splits)
    assert np.sort(np.concatenate([split.rows for split in splits])).tolist() == list(range(total))
    for split, share in zip(splits, SHARES.values(), strict=True):
        assert split.x.shape == (len(split.y), dataset.width)
        assert split.x.dtype == np.float32
        assert set(np.unique(split.y)) == {0, 1}
        assert 0 <= split.x.min() <= split.x.max() <= 1
        assert abs(len(split.y) - share * total) <= 2
    if name in FACTS:
        y = np.concatenate([split.y for split in splits])
        assert (total, len(dataset.schema.names)) == FACTS[name][:2]
        assert round(float(y.mean()), 3) == FACTS[name].rate


@pytest.mark.parametrize("name", ["cancer", "synthetic"])
def test_splits_depend_on_the_seed_alone(name: str) -> None:
    first, again, other = load(name), load(name), load(name, seed=1)
    np.testing.assert_array_equal(first.train.rows, again.train.rows)
    np.testing.assert_array_equal(first.holdout.x, again.holdout.x)
    assert first.train.rows.tolist() != other.train.rows.tolist()
    assert np.all(np.diff(first.train.rows) > 0)


@pytest.mark.parametrize("seed", range(5))
def test_every_split_has_the_same_share_of_each_class(seed: int) -> None:
    dataset = load("cancer", seed=seed)
    rate = FACTS["cancer"].rate
    for split in dataset.train, dataset.query, dataset.holdout:
        assert abs(split.y.sum() - rate * len(split.y)) < 1.5


def test_a_splits_rows_are_the_tables() -> None:
    schema, table = synthetic(200)
    dataset = from_table("mine", table, schema)
    for split in dataset.train, dataset.query, dataset.holdout:
        np.testing.assert_array_equal(split.x, dataset.encoder.encode(table.iloc[split.rows]))
        np.testing.assert_array_equal(split.y, table["label"].to_numpy()[split.rows])


def test_synthetic_of_any_size() -> None:
    small, large = load("synthetic", rows=100), load("synthetic", rows=1_000)
    for dataset, rows in (small, 100), (large, 1_000):
        assert sum(len(split.y) for split in (dataset.train, dataset.query, dataset.holdout)) == rows
    assert load("synthetic", rows=100, seed=3).train.x.tolist() != small.train.x.tolist()
    schema, table = synthetic(500, numbers=3)
    assert schema.names == ["x0", "x1", "x2", "group"]
    assert abs(table["label"].mean() - 0.5) < 0.01
    with pytest.raises(DatasetError, match="at least 20 rows, not 19"):
        load("synthetic", rows=19)


@pytest.mark.files
def test_loan_loads_in_seconds_and_again_from_a_copy(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_present("loan"):
        pytest.skip("the files of loan are not in CFMARK_DATA")
    monkeypatch.setenv("CFMARK_CACHE", str(tmp_path_factory.mktemp("cache")))
    started = time.perf_counter()
    first = load("loan")
    assert time.perf_counter() - started < 20
    (copy,) = cache_folder().glob("loan-*.parquet")
    monkeypatch.setattr(pd, "read_csv", lambda *_, **__: pytest.fail("the files were read again"))
    second = load("loan")
    np.testing.assert_array_equal(first.query.x, second.query.x)
    assert [path.name for path in cache_folder().iterdir()] == [copy.name]


@pytest.mark.parametrize(
    ("name", "schema", "error", "message"),
    [
        ("synthetic", "zzz", SchemaError, "there is no variant 'zzz'; it has paper, actionable"),
        ("iris", "paper", DatasetError, "no data set 'iris'; the built-in ones are cancer, credit"),
        ("cancer", "strict", SchemaError, "no variant 'strict'; the file has paper"),
    ],
)
def test_unknown_names(name: str, schema: str, error: type[CfmarkError], message: str) -> None:
    with pytest.raises(error, match=message):
        load(name, schema)


def test_missing_files_say_what_to_do(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFMARK_DATA", str(tmp_path))
    assert not is_present("heloc")
    with pytest.raises(DatasetError, match=r"heloc: there is no file .*run 'cfmark datasets get heloc'"):
        load("heloc")


def test_a_table_in_memory_must_vary_and_have_both_labels() -> None:
    schema = Schema((Feature("a", "integer", 0, 9, 1),), "label")
    table = pd.DataFrame({"a": [1, 2] * 20, "label": [0, 1] * 20})
    with pytest.raises(TableError, match="row 1, column 'a': every row has the value 3"):
        from_table("mine", table.assign(a=3), schema)
    with pytest.raises(TableError, match="0 rows have the label 1, at least 10"):
        from_table("mine", table.assign(label=0), schema)
