import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

from cfmark.cli import stream
from cfmark.cli.stream import Report, answers, check, explain_file
from cfmark.data import Dataset, Feature, Schema, from_table, load, read_table, write_table
from cfmark.errors import ConfigError, TableError
from cfmark.evaluation import Quality
from cfmark.types import BoolArray, Explanations, FloatArray, IntArray

ROWS = 50


class Half:
    """Classifies by the first column."""

    def predict_proba(self, x: FloatArray) -> FloatArray:
        high = (x[:, 0] > 0.5).astype(np.float32)
        return np.stack([1 - high, high], axis=1)


class Mirror:
    """Answers with the first column mirrored, twice if asked for two; the second is a repetition."""

    classifier = Half()

    def __init__(self, n_cfs: int = 1) -> None:
        self.n_cfs = n_cfs

    def search(self, keys: jax.Array, x: FloatArray, target: IntArray) -> tuple[FloatArray, BoolArray]:
        cf = np.repeat(x[:, None], self.n_cfs, axis=1)
        cf[:, :, 0] = 1 - cf[:, :, 0]
        return cf, np.ones(cf.shape[:2], bool)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load("synthetic", rows=400)


@pytest.fixture
def rows(dataset: Dataset, tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    write_table(dataset.encoder.decode(dataset.train.x[:ROWS]), path)
    return path


@contextmanager
def silent(total: int | None, done: int) -> Iterator[Any]:
    yield lambda rows: None


def run(
    dataset: Dataset,
    rows: Path | None,
    out: Path,
    *,
    n: int = 1,
    seed: int = 0,
    resume: bool = False,
    progress: stream.Progress = silent,
) -> Report:
    settings = {"n": n, "seed": seed}
    key = jax.random.key(0)
    return explain_file(key, Mirror(n), dataset, rows, out, settings, resume=resume, progress=progress)


@pytest.fixture
def stopped(rows: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The output file of a run that was stopped in its third piece."""
    monkeypatch.setattr(stream, "CHUNK", 16)
    out, real, calls = rows.parent / "cfs.csv", stream.explain, []

    def explain(*arguments: Any, **options: Any) -> Explanations:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(stream, "explain", explain)
        with pytest.raises(KeyboardInterrupt):
            run(dataset, rows, out)
    return out


def part_of(out: Path) -> tuple[Path, Path]:
    return out.with_name("cfs.csv.part"), out.with_name("cfs.csv.part.json")


def test_answers_say_which_query_and_leave_cells_empty(dataset: Dataset) -> None:
    x = dataset.query.x[:2]
    cf = np.stack([x, 1 - x], axis=1)
    found = np.array([[True, False], [False, True]])
    target = np.array([0, 1])
    table = answers(dataset, Explanations(x, cf, found, target), 10)
    assert list(table.columns) == ["query", "cf", "found", *dataset.schema.names, "label"]
    assert table["query"].tolist() == [11, 11, 12, 12]
    assert table["cf"].tolist() == [1, 2, 1, 2]
    assert table["found"].tolist() == [True, False, False, True]
    assert table["label"].tolist() == [0, None, None, 1]
    assert table.iloc[1, 3:].isna().all()
    assert table.loc[0, "x0"] == dataset.encoder.decode(x).loc[0, "x0"]


def test_pieces_make_the_file_that_one_piece_makes(
    dataset: Dataset, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(dataset, rows, rows.parent / "whole.csv", n=2)
    monkeypatch.setattr(stream, "CHUNK", 16)
    pieces = run(dataset, rows, rows.parent / "pieces.csv", n=2)
    assert (rows.parent / "whole.csv").read_bytes() == (rows.parent / "pieces.csv").read_bytes()
    assert [len(report.pieces) for report in (whole, pieces)] == [1, 4]
    assert pieces.quality() == pytest.approx(whole.quality(), rel=1e-5)
    assert sorted(path.name for path in rows.parent.iterdir()) == ["pieces.csv", "rows.csv", "whole.csv"]


def test_pieces_are_smaller_where_answers_are_large(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stream, "CELLS", 1)
    report = run(load("synthetic", rows=1_200), None, tmp_path / "cfs.csv")
    assert [piece.queries for piece in report.pieces] == [128, 128, 44]


def test_the_query_rows_are_the_default(dataset: Dataset, tmp_path: Path) -> None:
    assert run(dataset, None, tmp_path / "cfs.csv").rows == len(dataset.query.x)
    table = read_table(tmp_path / "cfs.csv")
    mirrored = dataset.query.x.copy()
    mirrored[:, 0] = 1 - mirrored[:, 0]
    np.testing.assert_allclose(dataset.encoder.encode(table), mirrored, atol=1e-6)


def test_quality_weighs_pieces_by_their_queries() -> None:
    none = Quality(30, 0.0, 0.0, float("nan"), float("nan"), 0)
    some = Quality(10, 0.8, 0.4, 1.5, 3.0, 2)
    more = Quality(10, 0.4, 0.2, 3.0, 6.0, 1)
    assert Report(50, 0, [none, some, more]).quality() == pytest.approx((50, 0.24, 0.12, 2.0, 4.0, 3))
    nothing = Report(30, 0, [none]).quality()
    assert (nothing.found, nothing.violations) == (0, 0)
    assert np.isnan(nothing.l1)


def test_a_stopped_run_goes_on(stopped: Path, rows: Path, dataset: Dataset) -> None:
    part, notes = part_of(stopped)
    assert not stopped.exists()
    assert len(read_table(part)) == 32
    report = run(dataset, rows, stopped, resume=True)
    assert (report.skipped, report.rows) == (32, ROWS - 32)
    run(dataset, rows, rows.parent / "whole.csv")
    assert stopped.read_bytes() == (rows.parent / "whole.csv").read_bytes()
    assert not part.exists()
    assert not notes.exists()


def test_a_torn_line_is_dropped(stopped: Path, rows: Path, dataset: Dataset) -> None:
    part, _ = part_of(stopped)
    with part.open("a") as file:
        file.write("33,1,True,0.5\n34,1,Tr")
    run(dataset, rows, stopped, resume=True)
    run(dataset, rows, rows.parent / "whole.csv")
    assert stopped.read_bytes() == (rows.parent / "whole.csv").read_bytes()


def test_without_resume_it_starts_again(stopped: Path, rows: Path, dataset: Dataset) -> None:
    report = run(dataset, rows, stopped, seed=1)
    assert (report.skipped, report.rows) == (0, ROWS)
    assert len(read_table(stopped)) == ROWS


def test_resume_without_anything_done_starts_at_the_top(rows: Path, dataset: Dataset) -> None:
    assert run(dataset, rows, rows.parent / "cfs.csv", resume=True).rows == ROWS


def test_other_settings_are_named(stopped: Path, rows: Path, dataset: Dataset) -> None:
    before = part_of(stopped)[0].read_bytes()
    with pytest.raises(ConfigError, match=r"cfs.csv.part was made with another n and seed: run without"):
        run(dataset, rows, stopped, n=2, seed=5, resume=True)
    assert part_of(stopped)[0].read_bytes() == before


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"settings": {}, "queries": "many", "bytes": [1]}'])
def test_lost_notes(text: str | None, stopped: Path, rows: Path, dataset: Dataset) -> None:
    _, notes = part_of(stopped)
    if text is None:
        notes.unlink()
    else:
        notes.write_text(text)
    with pytest.raises(ConfigError, match=r"cfs.csv.part.json cannot be read: run without --resume"):
        run(dataset, rows, stopped, resume=True)


def test_lost_answers(stopped: Path, rows: Path, dataset: Dataset) -> None:
    part, notes = part_of(stopped)
    os.truncate(part, json.loads(notes.read_text())["bytes"][0] - 1)
    with pytest.raises(TableError, match=r"cfs.csv.part: some answers are gone"):
        run(dataset, rows, stopped, resume=True)


def test_rows_that_are_left_after_a_bad_cell_can_be_mended(
    rows: Path, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "CHUNK", 16)
    sound, out = rows.read_text(), rows.parent / "cfs.csv"
    lines = sound.splitlines(keepends=True)
    rows.write_text(
        "".join([*lines[:40], lines[40].replace(lines[40].split(",")[0], "lots", 1), *lines[41:]])
    )
    with pytest.raises(TableError, match=r"rows.csv, row 40, column 'x0': 'lots' is not a number"):
        run(dataset, rows, out)
    rows.write_text(sound)
    assert run(dataset, rows, out, resume=True).skipped == 32
    assert read_table(out)["query"].tolist() == [str(row) for row in range(1, ROWS + 1)]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_progress_knows_how_many(ending: str, rows: Path, dataset: Dataset) -> None:
    path = rows.with_suffix(f".{ending}")
    if ending == "parquet":
        write_table(read_table(rows), path)
    seen: list[int | None] = []

    @contextmanager
    def watched(total: int | None, done: int) -> Iterator[Any]:
        seen.extend([total, done])
        yield seen.append

    run(dataset, path, rows.parent / "cfs.csv", progress=watched)
    assert seen == [ROWS, 0, ROWS]


def test_check_leaves_nothing_behind(rows: Path, dataset: Dataset) -> None:
    out = rows.parent / "new" / "folder" / "cfs.csv"
    check(dataset, rows, out)
    assert list(out.parent.iterdir()) == []


def test_check_keeps_what_is_done(stopped: Path, rows: Path, dataset: Dataset) -> None:
    before = part_of(stopped)[0].read_bytes()
    check(dataset, rows, stopped)
    assert part_of(stopped)[0].read_bytes() == before


def test_check_refuses_what_cannot_be_written(rows: Path, dataset: Dataset) -> None:
    with pytest.raises(ConfigError, match=r"rows.csv: that is the file of the rows"):
        check(dataset, rows, rows)
    with pytest.raises(ConfigError, match="that is a folder"):
        check(dataset, rows, rows.parent)
    with pytest.raises(ConfigError, match=r"cfs.csv: cannot be written \(File exists\)"):
        check(dataset, rows, rows / "cfs.csv")


@pytest.mark.parametrize("name", ["query", "cf", "found"])
def test_check_refuses_columns_that_answers_need(name: str, tmp_path: Path) -> None:
    table = pd.DataFrame({name: range(40), "y": [0, 1] * 20})
    taken = from_table(
        "mine", table, Schema((Feature(name, "integer", low=0, high=40, precision=1),), target="y")
    )
    with pytest.raises(ConfigError, match=f"mine has a column '{name}'"):
        check(taken, None, tmp_path / "cfs.csv")
