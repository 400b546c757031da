import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from cfmark.cli import datasets, models
from cfmark.data import fetch, load, sources
from cfmark.errors import CfmarkError, ConfigError, DatasetError, TableError

CITIES, ANSWERS = ("[Oslo]", "Rome", "Rome"), ("yes", "no")
TABLE = "id,age,income,city,approved\n" + "".join(
    f"{row},{20 + row % 45},{row * 7919 % 90_001},{CITIES[row % 3]},{ANSWERS[row % 2]}\n"
    for row in range(1, 121)
)


def run(*arguments: object) -> str:
    """Run a command and return what it says; an error of cfmark's is raised."""
    result = CliRunner().invoke(datasets.app, [str(argument) for argument in arguments])
    if isinstance(result.exception, CfmarkError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def line_of(output: str, start: str) -> list[str]:
    return next(line.split() for line in output.splitlines() if line.strip().startswith(start))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "my.csv"
    path.write_text(TABLE)
    return path


def test_list_says_what_is_here_and_how_to_get_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFMARK_DATA", str(tmp_path))
    output = run("list")
    assert line_of(output, "cancer")[-1] == "yes"
    assert line_of(output, "heloc")[-4:] == ["cfmark", "datasets", "get", "heloc"]
    assert line_of(output, "loan")[:3] == ["loan", "449,152", "12"]


def test_describe_tells_splits_and_columns() -> None:
    output = run("describe", "cancer", "--no-model")
    train = load("cancer").train.y
    assert line_of(output, "train")[:3] == ["train", str(len(train)), f"{train.mean():.1%}"]
    assert line_of(output, "mean area") == [
        *["mean", "area", "continuous", "143.5", "to", "2,501.0", "0.1", "yes"],
    ]
    assert line_of(output, "area error")[-1] == "no"
    assert line_of(run("describe", "cancer", "--schema", "paper", "--no-model"), "area error")[-1] == "yes"


def test_describe_tells_how_good_the_classifier_is(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(datasets, "start_jax", lambda: None)
    monkeypatch.setattr(
        models, "open_model", lambda dataset: seen.append(dataset.name) or SimpleNamespace(accuracy=0.9312)
    )
    rows = len(load("synthetic").holdout.y)
    assert f"right on 93.1% of the {rows} holdout rows" in run("describe", "synthetic")
    assert seen == ["synthetic"]


@pytest.mark.parametrize("arguments", [[], ["cancer", "--data", "my.csv"]])
def test_describe_takes_one_data_set(arguments: list[str]) -> None:
    with pytest.raises(ConfigError, match="name one data set, or a file with --data"):
        run("describe", *arguments)


def test_infer_then_describe(table: Path) -> None:
    said = run("infer", table, "--target", "approved", "--labels", "no", "yes")
    schema = table.with_suffix(".toml")
    assert f"cfmark datasets describe --data {table} --schema {schema}" in said
    output = run("describe", "--data", table, "--schema", schema, "--no-model")
    assert line_of(output, "age") == ["age", "integer", "20", "to", "64", "1", "yes"]
    assert "Rome, [Oslo]" in output
    assert "approved is yes" in output
    assert "id" not in [line.split()[0] for line in output.splitlines() if line.strip()]


def test_infer_keeps_what_was_edited(table: Path) -> None:
    schema = table.with_suffix(".toml")
    schema.write_text("edited")
    with pytest.raises(ConfigError, match=r"is there already; pass --force"):
        run("infer", table, "--target", "approved")
    assert schema.read_text() == "edited"
    run("infer", table, "--target", "approved", "--out", table.parent / "other.toml", "--drop", "city")
    assert "city]" not in (table.parent / "other.toml").read_text()
    run("infer", table, "--target", "approved", "--force")
    assert schema.read_text().startswith("# Schema of")


def test_infer_refuses_a_bad_table_and_writes_nothing(table: Path) -> None:
    table.write_text(TABLE.replace("no\n", "perhaps\n", 1))
    with pytest.raises(TableError, match=r"my.csv, row 3, column 'approved': 'no' is a third label"):
        run("infer", table, "--target", "approved")
    assert not table.with_suffix(".toml").exists()


def test_infer_says_where_it_cannot_write(table: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        run("infer", table, "--target", "approved", "--out", table.parent / "none" / "my.toml")


def fake_get(calls: list[tuple[str, Path | None]]) -> Callable[..., list[Path]]:
    def get(name: str, folder: Path | None, *, progress: fetch.Progress) -> list[Path]:
        calls.append((name, folder))
        for path in sources.FILES[name]:
            for arrived in (500, 1000):
                progress(path, arrived, 1000)
        return []

    return get


@pytest.mark.parametrize("terminal", [False, True])
def test_get_shows_every_file(terminal: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[tuple[str, Path | None]] = []
    monkeypatch.setattr(fetch, "get", fake_get(calls))
    monkeypatch.setenv("COLUMNS", "120")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    output = run("get", "all", "--folder", tmp_path)
    assert calls == [(name, tmp_path) for name in sources.FILES]
    shown = output if terminal else [line.partition(":")[0] for line in output.splitlines()]
    assert all(path in shown for paths in sources.FILES.values() for path in paths)
    assert f"CFMARK_DATA={tmp_path}" in output.replace("\n", "")
    assert ("1,000 bytes" in output) != terminal


def test_get_of_nothing_to_get() -> None:
    with pytest.raises(DatasetError, match=r"nothing to get for 'cancer' \(it needs no files\)"):
        run("get", "cancer")


@pytest.mark.parametrize("command", ["list", "describe", "get", "infer"])
def test_help_teaches_with_an_example(command: str) -> None:
    assert f"Example: cfmark datasets {command}" in run(command, "--help")


def test_help_needs_neither_jax_nor_pandas() -> None:
    code = "import sys, cfmark.cli.datasets; print({'jax', 'pandas', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
