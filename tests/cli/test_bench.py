import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import work_units
from cfmark import evaluation
from cfmark.data.datasets import synthetic
from cfmark.evaluation import plan, read_experiment, records_of, rows_of, run_experiment, run_unit
from cfmark.evaluation.settings import Unit
from evaluation_rows import QUALITY, suspects

Program = Callable[..., Any]
MADE = """
name = "made"
dataset = ["cancer"]
explainer = ["dice"]
repeats = 6
tables = ["quality", "detection"]
figures = ["confusion"]
[settings]
seeds = 2
"""


def rows_of_unit(unit: Unit) -> list[dict[str, Any]]:
    rows = [*suspects(2, 2), *suspects(1, 2, suspect="dual_cf"), *suspects(0, 2, suspect="query"), QUALITY]
    return [row | {"draw": unit.draw} for row in rows]


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment whose units take no time."""
    monkeypatch.setattr(evaluation, "run_unit", rows_of_unit)
    path = tmp_path / "made.toml"
    path.write_text(MADE, encoding="utf-8")
    return path


@pytest.mark.parametrize("command", ["run", "table", "figures"])
def test_help_teaches_with_an_example(command: str, cfmark: Program) -> None:
    said = cfmark("bench", command, "--help")
    assert said.code == 0
    assert f"Example: cfmark bench {command}" in said.out


def test_run_and_go_on(experiment: Path, cfmark: Program) -> None:
    said = cfmark("bench", "run", experiment, "--out", "out", "--only", "draw=0|2")
    assert (said.code, said.out) == (0, "")
    assert said.err.startswith("out: 2 units, ")
    assert cfmark("bench", "run", experiment, "--out", "out").error.startswith(
        "out is not empty: add --resume"
    )
    assert cfmark("bench", "table", "out").out.splitlines()[-1] == "not run yet: 1 unit"
    said = cfmark("bench", "run", experiment, "--out", "out", "--resume")
    assert "not run yet" not in cfmark("bench", "table", "out").out
    assert said.err.startswith("out: 3 units (2 were there already), ")
    document = json.loads(Path("out/experiment.json").read_text())
    assert document["runs"][0]["command"] == f"cfmark bench run {experiment} --out out --only 'draw=0|2'"


def test_repeats_instead_of_the_files(experiment: Path, cfmark: Program) -> None:
    said = cfmark("bench", "run", experiment, "--out", "out", "--repeats", "4")
    assert said.err.startswith("out: 2 units, ")
    assert "repeats = 5: up to 2" in cfmark("bench", "run", experiment, "--out", "b", "--repeats", "5").error


def test_the_table_for_people(experiment: Path, cfmark: Program) -> None:
    cfmark("bench", "run", experiment, "--out", "out")
    said = cfmark("bench", "table", "out")
    lines = said.out.splitlines()
    assert lines[0] == "Counterfactuals before and after marking, on the marked rows"
    (line,) = [line for line in lines if "ratio, queries" in line and "dice" in line]
    assert line.split() == "cancer dice ratio, queries 9 3 0 6 0.86 0.95 -2.0% +5.0%".split()
    (quality,) = [line for line in lines if "of 143" in line]
    assert quality.split() == "cancer dice 3 x 128 of 143 288 of 384".split() + (
        "1.000 0.980 -2.0% 2.00 2.10 +5.0% 5.0 6.0 0".split()
    )


def test_the_table_for_a_document(experiment: Path, cfmark: Program) -> None:
    cfmark("bench", "run", experiment, "--out", "out")
    said = cfmark("bench", "table", "out", "--format", "md", "--kind", "detection")
    assert "| cancer | dice | ratio, queries | 9 | 3 | 0 | 6 | 0.86 | 0.95 | -2.0% | +5.0% |" in said.out
    assert "Counterfactuals" not in said.out


def test_the_table_for_a_program(experiment: Path, cfmark: Program) -> None:
    """The fields that others rely on."""
    cfmark("bench", "run", experiment, "--out", "out")
    (record,) = json.loads(cfmark("bench", "table", "out", "--format", "json").out)
    expected = {
        "dataset": "cancer",
        "explainer": "dice",
        "scheme": "bilevel",
        "test": "calibrated",
        "pool": "queries",
        "score": "ratio",
        "alpha": 0.05,
        "tp": 9,
        "fn": 3,
        "fp": 0,
        "tn": 6,
        "f1": pytest.approx(18 / 21),
        "validity_change": pytest.approx(-0.02),
        "l1_change": pytest.approx(0.05),
        "flagged": {"mrce": [6, 6], "dual_cf": [3, 6], "query": [0, 6]},
    }
    assert {name: record[name] for name in expected} == expected
    (quality,) = json.loads(cfmark("bench", "table", "out", "--format", "json", "--kind", "quality").out)
    assert quality["marked"] == 288
    assert json.loads(cfmark("bench", "table", "out", "--format", "json", "--kind", "losses").out) == []
    both = ("--kind", "quality", "--kind", "timing")
    assert "name one --kind" in cfmark("bench", "table", "out", "--format", "json", *both).error


def test_tables_are_saved_with_their_provenance(experiment: Path, cfmark: Program) -> None:
    cfmark("bench", "run", experiment, "--out", "out")
    cfmark("bench", "table", "out", "--save", "results/made.json")
    text = Path("results/made.json").read_text()
    assert sum('"named": "ratio, queries"' in line for line in text.splitlines()) == 1
    saved = json.loads(text)
    assert saved["experiment"]["settings"]["seeds"] == 2
    assert set(saved["tables"]) == {"quality", "detection"}
    assert saved["runs"][0]["command"].startswith("cfmark bench run")
    assert not list(Path("results").glob("*.part"))


def test_figures_are_files(experiment: Path, cfmark: Program) -> None:
    cfmark("bench", "run", experiment, "--out", "out")
    said = cfmark("bench", "figures", "out", "--out", "figures")
    assert said.out.split() == ["figures/made_confusion.png"]
    assert Path("figures/made_confusion.png").stat().st_size > 1000


def test_what_failed_is_told_and_ends_with_1(
    experiment: Path, cfmark: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "run_unit", work_units.refused_unit)
    said = cfmark("bench", "run", experiment, "--out", "out")
    assert said.code == 1
    assert "left out: cancer/dice/bilevel/draw1: not the right bytes" in said.err
    assert said.err.splitlines()[-1] == "1 unit failed; --resume tries again"
    assert "left out: cancer/dice/bilevel/draw1" in cfmark("bench", "table", "out").out


def test_what_is_not_here_is_told(cfmark: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFMARK_DATA", str(tmp_path))
    path = tmp_path / "loan.toml"
    path.write_text('dataset = ["loan"]\nexplainer = ["dice"]\n', encoding="utf-8")
    said = cfmark("bench", "run", path, "--out", "out")
    assert said.code == 0
    assert "left out: 5 units (loan/dice/bilevel/draw0 ...): the files of loan are not here" in said.err


def test_ctrl_c_leaves_what_is_done(
    experiment: Path, cfmark: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(unit: Unit) -> list[dict[str, Any]]:
        if unit.draw == 1:
            raise KeyboardInterrupt
        return rows_of_unit(unit)

    monkeypatch.setattr(evaluation, "run_unit", stop)
    said = cfmark("bench", "run", experiment, "--out", "out")
    assert said.code == 130
    assert said.err.strip() == "Stopped. What is done is in out; add --resume to go on."
    assert len(list(Path("out/units").iterdir())) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table", "nowhere"], "nowhere: no experiment was run here: there is no experiment.json"),
        (["figures", "nowhere"], "nowhere: no experiment was run here: there is no experiment.json"),
        (["run", "nowhere.toml", "--out", "out"], "nowhere.toml: No such file or directory"),
    ],
)
def test_what_is_not_there(arguments: list[str], message: str, cfmark: Program) -> None:
    assert cfmark("bench", *arguments).error == message


@pytest.mark.parametrize(
    "arguments",
    [["run", "x.toml"], ["run", "x.toml", "--out", "o", "--engine", "gpu"], ["table", "o", "--kind", "pie"]],
)
def test_wrong_usage_ends_with_2(arguments: list[str], cfmark: Program) -> None:
    assert cfmark("bench", *arguments).code == 2


QUALITY_ALONE = """
name = "alone"
dataset = ["cancer"]
explainer = ["growing_sphere"]
repeats = 1
tables = ["quality"]
[variants]
steps = [2]
[settings]
queries = 16
seeds = 1
attacks = []
"""


def test_a_table_of_ones_own(tmp_path: Path, cfmark: Program) -> None:
    table = synthetic(200)[1]
    table.to_csv("mine.csv", index=False)
    assert cfmark("datasets", "infer", "mine.csv", "--target", "label", "--out", "mine.toml").code == 0
    Path("alone.toml").write_text(QUALITY_ALONE)
    own = "--data", "mine.csv", "--schema", "mine.toml"
    said = cfmark("bench", "run", "alone.toml", "--out", "out", *own)
    assert said.code == 0, said
    (line,) = json.loads(cfmark("bench", "table", "out", "--kind", "quality", "--format", "json").out)
    assert (line["dataset"], line["asked"], line["violations"]) == ("mine.csv", 16, 0)
    for wrong, message in [
        (("--schema", "mine.toml"), "--schema belongs to --data"),
        (("--data", "mine.csv"), "mine.csv needs a schema"),
        (("--data", "none.csv", "--schema", "mine.toml"), "none.csv: there is no such file"),
        (("--data", "heloc", "--schema", "mine.toml"), "--data heloc: a table ends in .csv or .parquet"),
    ]:
        assert message in cfmark("bench", "run", "alone.toml", "--out", "other", *wrong).error


def test_a_small_experiment_from_data_to_table(tmp_path: Path) -> None:
    """Everything once, for real: data, model, counterfactuals, marks, thieves, tests, rows, tables."""
    smoke = read_experiment(Path(__file__).parents[2] / "experiments" / "smoke.toml")
    smoke = replace(smoke, draws=1)
    run_experiment(smoke, tmp_path / "out", plan(smoke, tmp_path / "out"), run_unit)
    rows = rows_of(tmp_path / "out")
    assert set(rows["record"]) == {"verdict", "quality", "curve", "timing"}
    records = {record["named"]: record for record in records_of(rows)}
    assert {"t, paper tau", "t, calibrated tau, queries", "mean, queries", "ratio, queries"} == set(records)
    for record in records.values():
        assert record["tp"] + record["fn"] == 4
        assert record["fp"] + record["tn"] == 2
        assert record["flagged"]["unmarked/logistic"][1] == 2
        assert record["validity_change"] == 0
    (quality,) = records_of(rows, "quality")
    assert quality["queries"] == 32
    assert quality["violations"] == 0
    assert json.dumps(records_of(rows, "timing"), allow_nan=False)
