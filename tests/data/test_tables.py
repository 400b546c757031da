import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfmark.data import Feature, Schema, load_table, read_chunks, read_table, write_table
from cfmark.data.tables import check_table, column_names, numbers
from cfmark.errors import TableError

SCHEMA = Schema(
    (
        Feature("age", "integer", 18, 99, 1, special=(-9.0,)),
        Feature("rate", low=0, high=1, precision=0.1),
        Feature("city", "categorical", categories=("Rome", "None", "{x}")),
    ),
    target="label",
)
SCHEMA_TEXT = """
target = "label"
[features.age]
kind = "integer"
low = 18
high = 99
special = [-9]
[features.rate]
precision = 0.1
[features.city]
kind = "categorical"
categories = ["Rome", "None", "{x}"]
"""
GOOD = ["20,0.5,Rome,0", "-9,1,None,1"] * 10


def content(*changed: str, header: str = "age,rate,city,label") -> bytes:
    """A sound table whose rows from the third on are replaced."""
    lines = [header, *GOOD[:2], *changed, *GOOD[2 + len(changed) :]]
    return ("\n".join(lines) + "\n").encode()


def test_a_sound_table_loads(tmp_path: Path) -> None:
    (tmp_path / "my.csv").write_bytes(content())
    (tmp_path / "my.toml").write_text(SCHEMA_TEXT)
    dataset = load_table(tmp_path / "my.csv", tmp_path / "my.toml")
    assert dataset.name == "my"
    assert sum(len(s.y) for s in (dataset.train, dataset.query, dataset.holdout)) == 20


BAD = {
    "empty": (b"", r"^{path}: the file is empty"),
    "blank lines": (b"\n\n", r"^{path}: the file is empty"),
    "no rows": (b"age,rate,city,label\n", r"^{path}: the table has no rows"),
    "missing column": (
        content(header="age,rate,town,label"),
        r"^{path}, column 'city': the column is missing; the table has age, rate, town, label",
    ),
    "missing target": (content(header="age,rate,city,y"), r"^{path}, column 'label': the column is missing"),
    "twice": (content(header="age,age,city,label"), r"^{path}, column 'age': the column's name occurs twice"),
    "text": (content("old,0.5,Rome,0"), r"^{path}, row 3, column 'age': 'old' is not a number"),
    "blank number": (content(" ,0.5,Rome,0"), r"^{path}, row 3, column 'age': the value is missing"),
    "NaN": (content("20,NaN,Rome,0"), r"^{path}, row 3, column 'rate': the value is missing"),
    "blank category": (content("20,0.5,,0"), r"^{path}, row 3, column 'city': the value is missing"),
    "infinite": (content("20,inf,Rome,0"), r"^{path}, row 3, column 'rate': inf is not a finite number"),
    "huge": (content("20,-1e9,Rome,0"), r"^{path}, row 3, column 'rate': -1e9 is too large"),
    "outside": (
        content("17,0.5,Rome,0"),
        r"^{path}, row 3, column 'age': 17 is outside the schema's 18..99 \(or -9\)",
    ),
    "fraction": (content("20.5,0.5,Rome,0"), r"^{path}, row 3, column 'age': 20.5 is not a whole number"),
    "unknown category": (
        content("20,0.5,{y},0"),
        r"^{path}, row 3, column 'city': '{y}' is not one of Rome, None, {x}",
    ),
    "three classes": (
        content("20,0.5,Rome,1", "20,0.5,Rome,2"),
        r"^{path}, row 4, column 'label': '2' is not one of 0, 1",
    ),
    "no label": (content("20,0.5,Rome,"), r"^{path}, row 3, column 'label': the value is missing"),
    "constant": (
        b"age,rate,city,label\n" + b"20,0.5,Rome,0\n20,1,None,1\n" * 10,
        r"^{path}, row 1, column 'age': every row has the value 20",
    ),
    "few of a class": (
        b"age,rate,city,label\n" + b"20,0.5,Rome,0\n" * 20 + b"21,1,None,1\n" * 9,
        r"^{path}, column 'label': 9 rows have the label 1, at least 10 are needed",
    ),
    "long row": (content("20,0.5,Rome,0,7"), r"^{path}, row 3: the row has 5 values, the header names 4 col"),
    "long first row": (
        b"age,rate,city,label\n20,0.5,Rome,0,7\n20,0.5,Rome,0\n",
        r"^{path}, row 1: the row has 5 values",
    ),
    "short row": (content("20,0.5"), r"^{path}, row 3, column 'label': the value is missing"),
    "latin-1": (
        content("20,0.5,Köln,0").decode().encode("latin-1"),
        r"^{path}, row 3, column 'city': 'Köln' is not UTF-8 text",
    ),
    "open quote": (content('20,0.5,"Rome,0'), r"^{path}: the file is not a readable CSV table"),
    "tabs": (b"age\trate\n1\t2\n", r"^{path}: the values are separated by tabs"),
}


@pytest.mark.parametrize(("table", "message"), BAD.values(), ids=BAD.keys())
def test_bad_tables_give_one_clear_line(table: bytes, message: str, tmp_path: Path) -> None:
    path, schema_path = tmp_path / "my.csv", tmp_path / "my.toml"
    path.write_bytes(table)
    schema_path.write_text(SCHEMA_TEXT)
    with pytest.raises(TableError, match=message.replace("{path}", str(path))) as raised:
        load_table(path, schema_path)
    assert "\n" not in str(raised.value)


def test_row_numbers_go_on_from_piece_to_piece(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_bytes(content("20,0.5,Rome,0", "20,0.5,Oslo,0"))
    pieces = list(read_chunks(path, 3))
    assert [len(piece) for piece in pieces] == [3, 3, 3, 3, 3, 3, 2]
    assert list(itertools.chain(*(piece.index for piece in pieces))) == list(range(20))
    with pytest.raises(TableError, match="row 4, column 'city'"):
        check_table(pieces[1], SCHEMA, "my.csv")


def test_first_rows_only(tmp_path: Path) -> None:
    (tmp_path / "my.csv").write_bytes(content())
    assert len(read_table(tmp_path / "my.csv", rows=3)) == 3
    assert len(read_table(tmp_path / "my.csv")) == 20


def test_every_cell_of_a_csv_is_text_and_a_byte_order_mark_is_no_name(tmp_path: Path) -> None:
    (tmp_path / "my.csv").write_bytes(b"\xef\xbb\xbf a ,b\n01,NA\n")
    table = read_table(tmp_path / "my.csv")
    assert table.to_dict("list") == {"a": ["01"], "b": ["NA"]}


def test_columns_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "my.csv").write_bytes(b",a,\n0,1,2\n")
    assert column_names(tmp_path / "my.csv") == ["Unnamed: 0", "a", "Unnamed: 2"]
    assert list(read_table(tmp_path / "my.csv").columns) == ["Unnamed: 0", "a", "Unnamed: 2"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_written_is_read_back(suffix: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"a, b": [1, 2], 'say "c"': ["x\ny", "ü"]})
    path = tmp_path / "folder" / f"my.{suffix}"
    write_table(table, path)
    assert read_table(path).astype(str).equals(table.astype(str))
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_parquet_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "my.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(TableError, match="not a readable Parquet table"):
        read_table(path)
    with pytest.raises(TableError, match="there is no such file"):
        read_table(tmp_path / "none.parquet")
    pd.DataFrame({"a": []}).to_parquet(path)
    with pytest.raises(TableError, match="no rows"):
        read_table(path)


def test_typed_columns_are_checked_as_texts_are() -> None:
    table = pd.DataFrame({"age": [20, -9], "rate": np.array([0.1, 1], np.float32), "city": ["Rome", "None"]})
    checked = check_table(table, SCHEMA, "t")
    assert checked["age"].tolist() == [20, -9]
    with pytest.raises(TableError, match="row 2, column 'age': 17 is outside"):
        check_table(table.assign(age=[20, 17]), SCHEMA, "t")
    with pytest.raises(TableError, match="row 2, column 'rate': the value is missing"):
        check_table(table.assign(rate=[0.1, None]), SCHEMA, "t")
    with pytest.raises(TableError, match="row 1, column 'city': the value is missing"):
        check_table(table.assign(city=[np.nan, "Rome"]), SCHEMA, "t")


def test_a_bound_that_lost_digits_in_32_bits_is_inside() -> None:
    schema = Schema((Feature("rate", low=0.1, high=0.7, precision=0.1),), "y")
    stored = np.array([0.1, 0.7, np.nextafter(np.float32(0.7), 1)], np.float32)
    assert len(check_table(pd.DataFrame({"rate": stored}), schema, "t")) == 3
    with pytest.raises(TableError, match=r"row 1, column 'rate': 0\.71 is outside"):
        check_table(pd.DataFrame({"rate": [0.71]}), schema, "t")


def test_spellings_of_one_category_agree() -> None:
    schema = Schema((Feature("code", "categorical", categories=(1, 2)),), "y", labels=("no", "yes"))
    for column in ["1", "2.0"], [1.0, 2.0], [" 1 ", 2]:
        assert check_table(pd.DataFrame({"code": column}), schema, "t")["code"].tolist() == [1, 2]


def test_numbers_of_a_column() -> None:
    column = pd.Series([" 1.5", "-2e3"], name="a")
    assert numbers(column, "t").tolist() == [1.5, -2000]
