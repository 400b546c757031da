from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfmark.data import BUILT_IN, sources


def test_folders_follow_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("CFMARK_DATA", "CFMARK_CACHE", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert sources.data_folder() == tmp_path / ".local/share/cfmark"
    assert sources.cache_folder() == tmp_path / ".cache/cfmark"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert sources.data_folder() == tmp_path / "data/cfmark"
    assert sources.cache_folder() == tmp_path / "cache/cfmark"
    monkeypatch.setenv("CFMARK_DATA", str(tmp_path / "mine"))
    monkeypatch.setenv("CFMARK_CACHE", str(tmp_path / "yours"))
    assert sources.data_folder() == tmp_path / "mine"
    assert sources.cache_folder() == tmp_path / "yours"


def test_presence_needs_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFMARK_DATA", str(tmp_path))
    assert sources.is_present("cancer")
    assert not sources.is_present("mnist01")
    (tmp_path / "mnist").mkdir()
    for path in sources.FILES["mnist01"]:
        assert not sources.is_present("mnist01")
        (tmp_path / path).touch()
    assert sources.is_present("mnist01")


def test_every_built_in_table_has_a_schema_file() -> None:
    assert all(sources.schema_path(name).is_file() for name in BUILT_IN)
    assert {*BUILT_IN, *sources.FILES} == set(sources.FACTS)


def test_cancer_is_inside() -> None:
    table = sources.table("cancer")
    assert table.shape == (569, 31)
    assert table["diagnosis"].value_counts().to_dict() == {"benign": 357, "malignant": 212}


def test_mnist01_keeps_the_digits_0_and_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFMARK_DATA", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    pixels = np.zeros((3, 784), np.uint8)
    pixels[0, 1], pixels[2, 783] = 255, 51
    images, labels = (tmp_path / path for path in sources.FILES["mnist01"])
    images.write_bytes(bytes(16) + pixels.tobytes())
    labels.write_bytes(bytes(8) + bytes([1, 7, 0]))
    schema, x, y = sources.mnist01()
    assert y.tolist() == [1, 0]
    assert (x[0, 1], x[1, 783], x.sum()) == (1, np.float32(51) * np.float32(1 / 255), x[0, 1] + x[1, 783])
    assert schema.names[29] == "pixel 1,1"


@pytest.fixture
def loan_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setenv("CFMARK_DATA", str(tmp_path))
    monkeypatch.setenv("CFMARK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "loan").mkdir()
    paths = [tmp_path / path for path in sources.FILES["loan"]]
    for path in paths:
        path.write_text("State,LowDoc,Term\nNY,0,3\n")
    return paths


def test_loan_is_read_again_when_a_file_changes(loan_files: list[Path]) -> None:
    assert sources.table("loan")["LowDoc"].tolist() == ["0"] * 16
    loan_files[3].write_text("State,LowDoc,Term\nNY,Y,3\nCA,N,4\n")
    assert len(sources.table("loan")) == 17


def test_a_damaged_copy_is_made_again(loan_files: list[Path]) -> None:
    first = sources.table("loan")
    (copy,) = sources.cache_folder().iterdir()
    copy.write_bytes(b"damaged")
    assert sources.table("loan").equals(first)
    assert pd.read_parquet(copy).equals(first)


def test_a_cache_that_cannot_be_written_is_no_error(
    loan_files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFMARK_CACHE", str(loan_files[0]))
    assert len(sources.table("loan")) == 16
