import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from cfmark.data import Schema, infer, load_table, sources
from cfmark.data.infer import infer_schema
from cfmark.data.schema import MAX_STEPS
from cfmark.data.schema_file import parse_schema
from cfmark.errors import TableError

ROWS = 40


def table(**columns: object) -> pd.DataFrame:
    """A sound table of 40 rows, with other columns added."""
    base = {"income": [1000 + 37 * i for i in range(ROWS)], "label": [i % 2 for i in range(ROWS)]}
    return pd.DataFrame({**base, **columns})


def schema_of(frame: pd.DataFrame, folder: Path, **options: object) -> tuple[Schema, str]:
    path = folder / "my.csv"
    frame.to_csv(path, index=False)
    text = infer_schema(path, "label", **options)  # type: ignore[arg-type]
    return parse_schema(text), text


def test_kinds_come_from_the_data(tmp_path: Path) -> None:
    cycle = itertools.cycle
    frame = table(
        rate=[f"{0.25 * i:.2f}" for i in range(ROWS)],
        flag=[v for v, _ in zip(cycle([0, 1, 1]), range(ROWS), strict=False)],
        city=[v for v, _ in zip(cycle(["Rome", "Oslo", "Ulm"]), range(ROWS), strict=False)],
        grade=[v for v, _ in zip(cycle([1, 2, 3, 5]), range(ROWS), strict=False)],
    )
    schema, text = schema_of(frame, tmp_path)
    assert schema.names == ["income", "rate", "flag", "city", "grade"]
    assert [f.kind for f in schema.features] == ["integer", "continuous", *["categorical"] * 3]
    assert (schema["income"].low, schema["income"].high, schema["income"].precision) == (1000, 2443, 1)
    assert (schema["rate"].low, schema["rate"].high, schema["rate"].precision) == (0, 9.75, 0.01)
    assert schema["city"].categories == ("Oslo", "Rome", "Ulm")
    assert schema["grade"].categories == (1, 2, 3, 5)
    assert "# 40 different numbers of at most 2 decimals." in text
    assert '# 3 different texts: a category. The rarest: "Oslo", 13 of 40 rows.' in text
    assert '"ordinal"' in text
    assert "# low = 1\n# high = 5" in text


def test_what_a_person_cannot_change_is_suggested(tmp_path: Path) -> None:
    _, text = schema_of(table(ageYears=[20 + i % 30 for i in range(ROWS)], sex=["f", "m"] * 20), tmp_path)
    age, sex = text.partition("[features.ageYears]")[2].split("[features.sex]")
    assert '# direction = "up"  # likely' in age
    assert "# immutable = true  # likely" in age
    assert "# immutable = true  # likely" in sex
    assert "direction" not in sex
    assert "# immutable = true\n" in text.partition("[features.income]")[2].partition("[")[0]


def test_identifiers_are_dropped_with_the_reason(tmp_path: Path) -> None:
    frame = table(
        id=list(range(7, 7 + ROWS)),
        shuffled=list(np.random.default_rng(0).permutation(ROWS)),
        person=[f"person {i}" for i in range(ROWS)],
        weight=[i * 3 for i in range(ROWS)],
    )
    schema, text = schema_of(frame, tmp_path)
    assert schema.drop == ("id", "shuffled", "person")
    assert schema.names == ["income", "weight"]
    assert '# "id" is left out: the whole numbers from 7 to 46, each once' in text
    assert '# "person" is left out: 40 different texts in 40 rows' in text


def test_codes_below_zero_stand_apart(tmp_path: Path) -> None:
    frame = table(
        coded=[-9, -99, -999, *range(3, ROWS)],
        rate=["-99", *[f"{i / 10:.1f}" for i in range(1, ROWS)]],
        balance=[-9, -12, *range(2, ROWS)],
    )
    schema, _ = schema_of(frame, tmp_path)
    assert (schema["coded"].special, schema["coded"].low) == ((-999, -99, -9), 3)
    assert (schema["rate"].special, schema["rate"].low, schema["rate"].precision) == ((-99,), 0.1, 0.1)
    assert (schema["balance"].special, schema["balance"].low) == ((), -12)


def test_steps_are_coarsened_until_they_can_be_told_apart(tmp_path: Path) -> None:
    frame = table(
        fine=[f"{i / 39 + 1e-12:.12f}" for i in range(ROWS)],
        dollars=[1 + i * i * 12_345 for i in range(ROWS)],
        round=[i * i * 7_000 for i in range(ROWS)],
        large=[900_000_001 + i * i for i in range(ROWS)],
    )
    schema, text = schema_of(frame, tmp_path)
    assert schema["fine"].precision == 1e-6
    assert "at most 12 decimals. At most 2,097,152 steps can be told apart, so steps of 0.000001." in text
    assert schema["dollars"].precision == 10
    assert schema["dollars"].high >= 1 + 39 * 39 * 12_345
    assert schema["round"].precision == 1000
    assert "All are multiples of 1000." in text
    assert schema["large"].precision == 1
    assert all(f.steps <= MAX_STEPS for f in schema.features)


def test_labels_in_order_or_as_told(tmp_path: Path) -> None:
    frame = table().assign(label=["yes", "no"] * 20)
    schema, text = schema_of(frame, tmp_path)
    assert schema.labels == ("no", "yes")
    assert '# Class 0, then class 1: "no" 50.0%, "yes" 50.0% of the rows.' in text
    assert schema_of(frame, tmp_path, labels=("yes", "no"))[0].labels == ("yes", "no")
    with pytest.raises(TableError, match="the labels are no and yes, not yes and maybe"):
        schema_of(frame, tmp_path, labels=("yes", "maybe"))


def test_dropped_columns_are_not_looked_at(tmp_path: Path) -> None:
    frame = table(constant=1, holes=None)
    schema, _ = schema_of(frame, tmp_path, drop=["constant", "holes"])
    assert schema.drop == ("constant", "holes")
    with pytest.raises(TableError, match="'nothing': the column is missing"):
        schema_of(frame, tmp_path, drop=["nothing"])
    with pytest.raises(TableError, match="target cannot be left out"):
        schema_of(frame, tmp_path, drop=["label"])


def test_names_that_toml_must_quote(tmp_path: Path) -> None:
    odd = 'a "quoted", [dotted.] = naïve 😀 \x7f name'
    schema, _ = schema_of(table(**{odd: ["x\ty", "#1.2.3"] * 20}), tmp_path)
    assert schema[odd].categories == ("#1.2.3", "x\ty")


def test_parquet_columns_keep_their_types(tmp_path: Path) -> None:
    path = tmp_path / "my.parquet"
    frame = table(
        flag=[True, False] * 20, rate=np.linspace(0, 1, ROWS).round(2).astype(np.float32), n=range(5, 85, 2)
    )
    frame.to_parquet(path)
    schema = parse_schema(infer_schema(path, "label"))
    assert schema["flag"].categories == ("False", "True")
    assert (schema["rate"].precision, schema["rate"].high) == (0.01, 1)
    assert schema["n"].kind == "integer"


@pytest.mark.parametrize("size", [7, 65_536])
def test_pieces_tell_the_same_as_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    from cfmark.data import scan

    frame = table(rate=[f"{i * 0.125:.3f}" for i in range(ROWS)], city=["Rome", "Oslo", "Ulm", "Bonn"] * 10)
    _, whole = schema_of(frame, tmp_path)
    read = scan.read_chunks
    monkeypatch.setattr(scan, "read_chunks", lambda path, _: read(path, size))
    assert schema_of(frame, tmp_path)[1] == whole
    rate = ["x" if row == 30 else cell for row, cell in enumerate(frame["rate"], start=1)]
    with pytest.raises(TableError, match="row 30, column 'rate': 'x' is not a number"):
        schema_of(frame.assign(rate=rate), tmp_path)
    city = [None if row == 25 else cell for row, cell in enumerate(frame["city"], start=1)]
    with pytest.raises(TableError, match="row 25, column 'city': the value is missing"):
        schema_of(frame.assign(city=city), tmp_path)


cells = st.one_of(
    st.integers(-(10**8), 10**8).map(str),
    st.decimals(-1000, 1000, places=4).map(str),
    st.floats(-1e6, 1e6, allow_subnormal=False).map(repr),
)


@settings(max_examples=40)
@given(
    numbers=st.lists(cells, min_size=ROWS, max_size=ROWS, unique_by=float),
    words=st.lists(
        st.text("abcü #\"'\\", min_size=1, max_size=5), min_size=2, max_size=9, unique_by=str.strip
    ),
)
def test_the_text_describes_its_own_table(
    numbers: list[str], words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("table")
    words = [word for word in words if word.strip()] + ["one", "two"]
    frame = table(number=numbers, word=[words[i % len(words)] for i in range(ROWS)])
    path, schema_path = folder / "my.csv", folder / "my.toml"
    frame.to_csv(path, index=False)
    try:
        schema_path.write_text(infer_schema(path, "label"), encoding="utf-8")
    except TableError:
        reject()
    dataset = load_table(path, schema_path)
    feature = dataset.schema["number"]
    served = dataset.encoder.decode(dataset.encoder.encode(frame))["number"]
    assert np.abs(served - frame["number"].astype(float)).max() <= 0.5001 * feature.precision


BAD = {
    "empty": (b"", "empty"),
    "header only": (b"a,label\n", "no rows"),
    "no target": (b"a,b\n1,2\n", r"my.csv, column 'label': the column is missing; the table has a, b"),
    "twice": (b"a,a,label\n1,2,0\n", "column 'a': the column's name occurs twice"),
    "text": (
        b"a,label\n" + b"".join(b"%d,%d\n" % (i * i, i % 2) for i in range(30)) + b"12x,1\n",
        r"row 31, column 'a': '12x' is not a number, 30 of 31 cells are; correct it, or .*--drop \"a\"",
    ),
    "blank": (b"a,label\n1,0\n2,1\n,0\n", "row 3, column 'a': the value is missing"),
    "nan": (b"a,label\n1,0\nNaN,1\n3,0\n", "row 2, column 'a': the value is missing"),
    "blank label": (b"a,label\n1,0\n2,\n", "row 2, column 'label': the label is missing"),
    "three classes": (b"a,label\n1,0\n2,1\n3,1\n4,2\n", "row 4, column 'label': '2' is a third label"),
    "one class": (b"a,label\n1,0\n2,0\n", "column 'label': every row has the label '0'"),
    "constant": (b"a,label\n5,0\n5.0,1\n", "column 'a': every row has the value '5'"),
    "huge": (b"a,label\n1,0\n-1e9,1\n3,0\n", "row 2, column 'a': -1e9 is too large"),
    "infinite": (b"a,label\n1,0\ninf,1\n3,0\n", "row 2, column 'a': inf is too large"),
    "tiny": (
        b"a,label\n1e-12,0\n2e-12,1\n3e-12,1\n",
        "column 'a': numbers from 1e-12 to 3e-12 do not fit a grid",
    ),
    "latin-1": ("a,label\nx,0\nKöln,1\n".encode("latin-1"), "row 2, column 'a': 'Köln' is not UTF-8 text"),
    "latin-1 header": ("ä,label\nx,0\n".encode("latin-1"), "'ä' is not UTF-8 text"),
    "long row": (b"a,label\n1,0\n2,1,7\n", "row 2: the row has 3 values, the header names 2 columns"),
    "long first row": (b"a,label\n1,0,7\n2,1\n", "row 1: the row has 3 values"),
    "short row": (b"label,a,b\n0,1,5\n1,2\n0,3,6\n", "row 2, column 'b': the value is missing"),
    "open quote": (b'a,label\n1,0\n"2,1\n', "not a readable CSV table"),
    "semicolons": (b"a;label\n1;0\n", "separated by semicolons"),
    "only identifiers": (
        b"a,label\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(30)),
        "no column is left",
    ),
    "too many texts": (
        b"a,label\n" + b"".join(b"t%d,%d\n" % (i % 1200, i % 2) for i in range(2400)),
        "row 1001, column 'a': 1,200 different texts are too many categories",
    ),
    "too many columns": (
        b",".join(b"c%d" % i for i in range(10_000)) + b",label\n" + b"1," * 10_000 + b"0\n",
        "10,001 columns, at most 10,000",
    ),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD.keys())
def test_bad_tables_give_one_clear_line(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=message) as raised:
        infer_schema(path, "label")
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="there is no such file"):
        infer_schema(tmp_path / "none.csv", "label")


@pytest.mark.files
@pytest.mark.parametrize(("name", "target"), [("heloc", "RiskPerformance"), ("credit", "class")])
def test_built_in_tables(name: str, target: str, tmp_path: Path) -> None:
    if not sources.is_present(name):
        pytest.skip(f"the files of {name} are not in CFMARK_DATA")
    path = sources.data_folder() / sources.FILES[name][0]
    (tmp_path / "schema.toml").write_text(infer.infer_schema(path, target), encoding="utf-8")
    dataset = load_table(path, tmp_path / "schema.toml")
    assert "ID" not in dataset.schema.names
    if name == "heloc":
        assert dataset.schema["MSinceMostRecentDelq"].special == (-9, -8, -7)
