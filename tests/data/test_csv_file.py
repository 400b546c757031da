from pathlib import Path

import pytest

from cfmark.data.csv_file import csv_chunks, csv_columns
from cfmark.errors import TableError


def test_quotes_commas_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_bytes(b'a,"b, c"\r\n1,"x\r\ny"\r\n\r\n"2",""\r\n')
    names = csv_columns(path)
    assert names == ["a", "b, c"]
    (piece,) = csv_chunks(path, 10, names)
    assert piece.to_numpy().tolist() == [["1", "x\r\ny"], ["2", ""]]


def test_the_bad_row_is_counted_without_blank_lines_and_across_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_bytes(b'a,b\n1,"x\ny"\n\n1,2\n1,2,3\n')
    with pytest.raises(TableError, match="row 3: the row has 3 values") as raised:
        list(csv_chunks(path, 1, ["a", "b"]))
    assert raised.value.row == 3


def test_bytes_that_are_no_text_far_down(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 50_000 + b"1,\xe4\n")
    with pytest.raises(TableError, match="row 50001, column 'b': 'ä' is not UTF-8 text"):
        list(csv_chunks(path, 10_000, csv_columns(path)))


@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_other_separators_are_named(separator: str, word: str, tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_text(f"a{separator}b\n1{separator}2\n")
    with pytest.raises(TableError, match=f"separated by {word}; save the table with commas"):
        csv_columns(path)
