from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfmark.cli.pairs_file import pairs_table, read_facts, read_pairs, write_facts
from cfmark.data import Dataset, load, read_table, write_table
from cfmark.errors import ConfigError, TableError
from cfmark.types import MarkedExplanations

N, M = 6, 2


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load("synthetic", rows=400)


@pytest.fixture
def pairs(dataset: Dataset) -> MarkedExplanations:
    """Pairs with a row that was not found, and one that did not move."""
    cf, issued = dataset.train.x[: N * M].reshape(N, M, -1), dataset.train.x[N * M : 2 * N * M]
    issued = issued.reshape(N, M, -1).copy()
    issued[3, 0] = cf[3, 0]
    found = np.ones((N, M), bool)
    found[1] = found[4, 1] = False
    there = found[:, :, None]
    cf, issued = np.where(there, cf, np.float32(0)), np.where(there, issued, np.float32(0))
    paired = found & (cf != issued).any(axis=2)
    return MarkedExplanations(dataset.query.x[:N], issued, cf, found, paired, np.array([0, 1, 1, 0, 0, 1]))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_read_is_what_was_written(
    ending: str, dataset: Dataset, pairs: MarkedExplanations, tmp_path: Path
) -> None:
    path = tmp_path / f"pairs.{ending}"
    write_table(pairs_table(dataset, pairs, 0), path)
    for one, two in zip(read_pairs(dataset, path), pairs, strict=True):
        np.testing.assert_array_equal(one, two)


def test_pieces_make_one_file_whatever_their_order(
    dataset: Dataset, pairs: MarkedExplanations, tmp_path: Path
) -> None:
    first, second = (MarkedExplanations(*(v[part] for v in pairs)) for part in (slice(0, 4), slice(4, N)))
    tables = [pairs_table(dataset, first, 0), pairs_table(dataset, second, 4)]
    both = pd.concat(tables[::-1])
    write_table(both.sample(frac=1, random_state=0), tmp_path / "pairs.csv")
    for one, two in zip(read_pairs(dataset, tmp_path / "pairs.csv"), pairs, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_query_stands_above_its_answers(dataset: Dataset, pairs: MarkedExplanations) -> None:
    table = pairs_table(dataset, pairs, 10)
    assert table["query"].tolist()[:6] == [11, 11, 11, 11, 11, 12]
    assert table["cf"].tolist()[:6] == [0, 1, 1, 2, 2, 0]
    assert table["role"].tolist()[:4] == ["query", "issued", "counterpart", "issued"]
    assert len(table) == N + 2 * pairs.found.sum()


def cell(row: int, column: str, value: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def edit(table: pd.DataFrame) -> pd.DataFrame:
        table.loc[row, column] = value
        return table

    return edit


def drop(row: int) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.drop(index=row)


def again(row: int) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: pd.concat([table, table.loc[[row]]])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.drop(columns="role"), "column 'role': the column is missing; is this a file that"),
        (lambda t: t.drop(columns="x3"), "column 'x3': the column is missing"),
        (lambda t: t.drop(columns="label"), "column 'label': the column is missing"),
        (lambda t: t.iloc[:0], "the table has no rows"),
        (
            cell(1, "role", "secret"),
            "row 2, column 'role': 'secret' is not one of query, issued, counterpart",
        ),
        (cell(1, "x3", "nan"), "row 2, column 'x3': the value is missing"),
        (cell(1, "x3", "7"), "row 2, column 'x3': 7 is outside the schema's 0..1"),
        (cell(1, "group", "z"), "row 2, column 'group': 'z' is not one of a, b, c"),
        (cell(1, "label", "2"), "row 2, column 'label': '2' is not one of 0, 1"),
        (cell(1, "label", "1"), "row 2, column 'label': the query asks for another class"),
        (cell(1, "query", "1.5"), "row 2, column 'query': '1.5' is not a whole number"),
        (cell(1, "query", "99"), "row 2, column 'query': there is no row with role 'query' for this number"),
        (cell(1, "cf", "0"), "row 2, column 'cf': 0: a query has cf 0, an answer 1 and more"),
        (cell(1, "cf", "99999999999"), "row 2, column 'cf': 99999999999: no query has more than 1000"),
        (cell(1, "cf", "7"), "row 2, column 'role': a pair needs both an issued row and its counterpart"),
        (drop(2), "row 2, column 'role': a pair needs both an issued row and its counterpart"),
        (drop(0), "row 1, column 'query': there is no row with role 'query' for this number"),
        (again(0), "row 25, column 'query': this query is there twice"),
        (again(1), "row 25, column 'cf': the issued row of this counterfactual is there twice"),
    ],
)
def test_what_does_not_fit(
    spoil: Callable[[pd.DataFrame], pd.DataFrame],
    message: str,
    dataset: Dataset,
    pairs: MarkedExplanations,
    tmp_path: Path,
) -> None:
    path = tmp_path / "pairs.csv"
    write_table(pairs_table(dataset, pairs, 0), path)
    table = read_table(path)
    assert len(table) == 24
    write_table(spoil(table), path)
    with pytest.raises(TableError) as raised:
        read_pairs(dataset, path)
    assert str(raised.value).replace(str(path), "pairs.csv").removeprefix("pairs.csv")[2:].startswith(message)


def test_facts_stand_beside(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    assert read_facts(path) is None
    write_facts(path, {"seed": 3})
    assert read_facts(path) == {"format": 1, "seed": 3}
    for text in ("{", "[]", '{"format": 2}'):
        (tmp_path / "pairs.json").write_text(text)
        with pytest.raises(ConfigError, match=r"pairs.json: "):
            read_facts(path)
