import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

from cfmark.cli import stream
from cfmark.cli.explain import config_of
from cfmark.cli.models import open_model
from cfmark.data import Dataset, load, load_table, read_table, write_table
from cfmark.errors import ConfigError
from cfmark.explainers import METHODS, explain, fit_explainer
from cfmark.models import save_classifier
from cfmark.seeds import derive_seed
from cfmark.types import Classifier, Explanations, predict

ROWS = 12
PIPELINE = """
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

table = pd.read_csv("my.csv")
model = make_pipeline(StandardScaler(), LogisticRegression())
model.fit(table[["age", "income", "savings"]], table["approved"])
"""
Cfmark = Callable[..., Any]


@pytest.fixture(scope="module")
def cancer() -> Dataset:
    return load("cancer")


@pytest.fixture
def queries(cancer: Dataset, tmp_path: Path) -> Path:
    path = tmp_path / "queries.csv"
    write_table(cancer.encoder.decode(cancer.query.x[:ROWS]), path)
    return path


@pytest.fixture
def own(cfmark: Cfmark, tmp_path: Path) -> Path:
    """A table of one's own and the schema that was inferred from it."""
    random = np.random.default_rng(4)
    table = pd.DataFrame({"age": random.integers(20, 66, 160), "income": random.integers(20, 90, 160) * 1000})
    table["savings"] = random.beta(2, 5, 160).round(3)
    score = table["income"] / 90_000 + table["savings"]
    table["approved"] = np.where(score > score.median(), "yes", "no")
    write_table(table, tmp_path / "my.csv")
    said = cfmark("datasets", "infer", "my.csv", "--target", "approved", "--labels", "no", "yes")
    assert said.code == 0, said
    return tmp_path / "my.csv"


def expected(
    dataset: Dataset,
    classifier: Classifier,
    x: Any,
    method: str = "growing_sphere",
    seed: int = 0,
    **options: Any,
) -> Explanations:
    """What the library finds with the program's key."""
    fit, run = jax.random.split(jax.random.key(derive_seed("explain", method, seed)))
    return explain(run, fit_explainer(fit, method, dataset, classifier, **options), x)


def check_answers(path: Path, dataset: Dataset, classifier: Classifier, wanted: Explanations) -> None:
    """Every answer in the file is the library's, and valid once read back."""
    table = read_table(path)
    n, m, d = wanted.cf.shape
    assert table["query"].tolist() == [str(row) for row in range(1, n + 1) for _ in range(m)]
    assert table["cf"].tolist() == [str(k) for k in range(1, m + 1)] * n
    found = wanted.found.reshape(-1)
    assert found.any()
    assert table["found"].tolist() == [str(one) for one in found.tolist()]
    told = dataset.encoder.encode(table[found])
    np.testing.assert_array_equal(told, wanted.cf.reshape(-1, d)[found])
    target = dataset.encoder.encode_labels(table[found])
    np.testing.assert_array_equal(target, np.repeat(wanted.target, m)[found])
    np.testing.assert_array_equal(predict(classifier, told), target)
    assert (table.loc[~found].iloc[:, 3:] == "").all(axis=None)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_of_rows(ending: str, cancer: Dataset, queries: Path, cfmark: Cfmark) -> None:
    rows = queries.with_suffix(f".{ending}")
    write_table(cancer.encoder.decode(cancer.query.x[:ROWS]), rows)
    said = cfmark("explain", "--rows", rows, "--out", "new/cfs.csv", "--seed", 3)
    assert said.code == 0, said
    assert re.search(r"right on 9\d\.\d% of 113 holdout rows", said.err)
    assert f"new/cfs.csv: {ROWS} rows explained" in said.err
    assert "found 100.0%, valid 100.0%" in said.err
    assert "0 violations" in said.err
    classifier = open_model(cancer).classifier
    wanted = expected(cancer, classifier, cancer.query.x[:ROWS], seed=3)
    check_answers(Path("new/cfs.csv"), cancer, classifier, wanted)


def test_columns_go_by_name_and_others_are_ignored(cancer: Dataset, queries: Path, cfmark: Cfmark) -> None:
    assert cfmark("explain", "--rows", queries, "--out", "plain.csv").code == 0
    table = read_table(queries)
    table.insert(0, "patient", "x")
    table["diagnosis"] = "unknown"
    write_table(table[table.columns[::-1]], queries)
    assert cfmark("explain", "--rows", queries, "--out", "other.csv").code == 0
    assert Path("other.csv").read_bytes() == Path("plain.csv").read_bytes()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_with_options(method: str, own: Path, cfmark: Cfmark) -> None:
    short = {"growing_sphere": "max_shells=20", "dice": "max_steps=60", "cchvae": "max_shells=20"}[method]
    write_table(read_table(own, ROWS), "rows.csv")
    arguments = ["--data", own, "--schema", "my.toml", "--rows", "rows.csv", "--method", method, "-n", "3"]
    said = cfmark("explain", *arguments, "--set", short, "--out", "cfs.csv")
    assert said.code == 0, said
    dataset = load_table(own, "my.toml")
    classifier = open_model(dataset).classifier
    name, _, value = short.partition("=")
    x = dataset.encoder.encode(read_table("rows.csv"))
    wanted = expected(dataset, classifier, x, method, n_cfs=3, **{name: int(value)})
    check_answers(Path("cfs.csv"), dataset, classifier, wanted)


def test_a_model_of_ones_own(own: Path, cfmark: Cfmark) -> None:
    Path("my_pipeline.py").write_text(PIPELINE)
    said = cfmark("explain", "--data", own, "--schema", "my.toml", "--model", "my_pipeline:model")
    assert said.code == 0, said
    assert said.err.startswith("the model my_pipeline:model: right on ")
    dataset = load_table(own, "my.toml")
    classifier = open_model(dataset, "my_pipeline:model").classifier
    check_answers(Path("cfs.csv"), dataset, classifier, expected(dataset, classifier, dataset.query.x))


def test_numbers_between_the_steps_are_told(own: Path, cfmark: Cfmark) -> None:
    table = read_table(own)[:ROWS]
    write_table(table, own.parent / "rows.csv")
    command = "explain", "--data", own.name, "--schema", "my.toml", "--rows", "rows.csv", "--out", "cfs.csv"
    assert "nearest step" not in cfmark(*command).err
    table.loc[3, "savings"] = "0.12345"
    write_table(table, own.parent / "rows.csv")
    (own.parent / "cfs.csv").unlink()
    said = cfmark(*command)
    assert said.code == 0, said
    assert "1 of the first 12 rows' numbers lie between two steps" in said.err
    assert "(row 4, column 'savings': 0.12345 as 0.123)" in said.err


def test_a_saved_network(cancer: Dataset, queries: Path, cfmark: Cfmark) -> None:
    save_classifier(open_model(cancer).classifier, "x.npz")
    assert cfmark("explain", "--rows", queries, "--out", "trained.csv").code == 0
    said = cfmark("explain", "--rows", queries, "--model", "x.npz", "--out", "saved.csv")
    assert said.err.startswith("the network in x.npz: right on ")
    assert Path("saved.csv").read_bytes() == Path("trained.csv").read_bytes()


def test_rows_without_an_answer_have_empty_cells(own: Path, cfmark: Cfmark) -> None:
    schema = Path("my.toml")
    schema.write_text(re.sub(r"(\[features\..*\])", r"\1\nimmutable = true", schema.read_text()))
    said = cfmark(
        "explain", "--data", own, "--schema", schema, "--rows", own, "--set", "max_shells=2", "-n", 2
    )
    assert said.code == 0, said
    assert "found none" in said.err
    assert "nan" not in said.err
    table = read_table("cfs.csv")
    assert len(table) == 2 * 160
    assert set(table["found"]) == {"False"}
    assert (table.iloc[:, 3:] == "").all(axis=None)


def test_a_stopped_run_goes_on(queries: Path, cfmark: Cfmark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CHUNK", 8)
    cfmark("explain", "--rows", queries, "--out", "whole.csv")
    real, firsts = stream.explain, []

    def explain(*arguments: Any, first_row: int, **options: Any) -> Explanations:
        firsts.append(first_row)
        if firsts == [0, 8]:
            raise KeyboardInterrupt
        return real(*arguments, first_row=first_row, **options)

    monkeypatch.setattr(stream, "explain", explain)
    said = cfmark("explain", "--rows", queries, "--out", "cfs.csv")
    assert said.code == 130
    assert "Stopped. What is done is in cfs.csv.part; add --resume to go on." in said.err
    assert "Traceback" not in said.err
    assert len(read_table("cfs.csv.part")) == 8
    for other in (
        ["--seed", 1],
        ["-n", 2],
        ["--method", "dice"],
        ["--schema", "paper"],
        ["--set", "growth=1.4"],
    ):
        error = cfmark("explain", "--rows", queries, "--out", "cfs.csv", "--resume", *other).err.splitlines()[
            -1
        ]
        name = str(other[0]).strip("-")
        assert error.startswith(f"error: cfs.csv.part was made with another {name}: run without"), error
    said = cfmark("explain", "--rows", queries, "--out", "cfs.csv", "--resume")
    assert said.code == 0, said
    assert f"{ROWS} rows explained (8 were there already)" in said.err
    assert firsts == [0, 8, 8]
    assert Path("cfs.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_ctrl_c_before_the_first_row(queries: Path, cfmark: Cfmark, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stream, "explain", stop)
    said = cfmark("explain", "--rows", queries)
    assert (said.code, said.err.splitlines()[-1]) == (130, "Stopped. No row is done.")
    assert sorted(path.name for path in queries.parent.iterdir()) == ["queries.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "magic"], "there is no method 'magic'; the methods are growing_sphere, dice, cchvae"),
        (
            ["--set", "shells=3"],
            "--set shells=3: there is no 'shells' to set; growing_sphere has candidates, ",
        ),
        (
            ["--out", "cfs.parquet"],
            "--out cfs.parquet: the answers are written as CSV; name a file that ends in .csv",
        ),
        (["--out", "queries.csv/cfs.csv"], "--out queries.csv/cfs.csv: cannot be written (File exists)"),
        (["--rows", "none.csv"], "none.csv: there is no such file"),
        (["--rows", "empty.csv"], "empty.csv: the table has no rows"),
        (["--rows", "bad.csv"], "bad.csv, row 3, column 'mean area': 'lots' is not a number"),
        (
            ["--rows", "short.csv"],
            "short.csv, column 'worst area': the column is missing; the table has mean radius, ",
        ),
        (["--data", "nope"], "there is no data set 'nope'; the built-in ones are cancer, "),
        (["--data", "nope.csv"], "nope.csv: there is no such file"),
        (["--data", "notes.txt"], "--data notes.txt: a table is a file that ends in .csv or .parquet"),
        (
            ["--data", "bad.csv"],
            "bad.csv needs a schema: run 'cfmark datasets infer bad.csv --target COLUMN'",
        ),
        (["--data", "bad.csv", "--schema", "none.toml"], "none.toml: "),
        (["--model", "none.npz"], "none.npz: there is no such file"),
        (["--model", "none:model"], "--model none:model: the module cannot be imported"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: list[str], message: str, queries: Path, cfmark: Cfmark) -> None:
    table = read_table(queries)
    write_table(table.iloc[:0], "empty.csv")
    write_table(table.drop(columns="worst area"), "short.csv")
    table.loc[2, "mean area"] = "lots"
    write_table(table, "bad.csv")
    Path("notes.txt").write_text("")
    there = {path.name for path in Path().iterdir()}
    assert cfmark("explain", *arguments).error.startswith(message)
    assert {path.name for path in Path().iterdir()} == there


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("growth", "expected NAME=VALUE"),
        ("=2", "expected NAME=VALUE"),
        ("n_cfs=2", "there is no 'n_cfs' to set; say -n"),
        ("candidates=1.5", "expected a whole number"),
        ("candidates=true", "expected a whole number"),
        ("candidates=many", "expected a whole number"),
        ("growth=NaN", "expected a number"),
        ("refine=1", "expected true or false"),
    ],
)
def test_options_are_checked(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config_of("growing_sphere", [text], 1)
    assert str(raised.value) == f"--set {text}: {message}"


def test_options_are_what_the_config_takes() -> None:
    assert config_of("growing_sphere", ["growth=2", "refine=false"], 4) == {
        "growth": 2.0,
        "refine": False,
        "n_cfs": 4,
    }
    with pytest.raises(ConfigError, match="growth above 1"):
        config_of("growing_sphere", ["growth=1"], 1)
    with pytest.raises(ConfigError, match="there is no 'vae' to set"):
        config_of("cchvae", ["vae=1"], 1)
