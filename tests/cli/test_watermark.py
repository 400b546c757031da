import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from cfmark.cli import watermark
from cfmark.cli.cf_file import read_all, read_cfs
from cfmark.cli.models import open_model
from cfmark.cli.pairs_file import read_facts, read_pairs
from cfmark.cli.watermark import scheme_of
from cfmark.data import Dataset, load, read_table, write_table
from cfmark.evaluation import quality, violations
from cfmark.seeds import derive_seed
from cfmark.types import Classifier, predict
from cfmark.watermark import embed, preset
from owner_files import CFS, FILES, QUERIES, QUERIES_CSV, QUICK

Cfmark = Callable[..., Any]


@pytest.fixture(scope="module")
def cancer() -> Dataset:
    return load("cancer")


@pytest.fixture(scope="module")
def classifier(cancer: Dataset) -> Classifier:
    return open_model(cancer).classifier


def test_what_is_issued_is_what_the_library_marks(
    owned: Path, cancer: Dataset, classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(owned)
    given = read_all(cancer, classifier, QUERIES_CSV, CFS)
    facts = read_facts(Path("pairs.csv"))
    assert facts is not None
    config = scheme_of("default", "growing_sphere", "cancer", None, 1.0, QUICK[3::2])
    key = jax.random.fold_in(jax.random.key(derive_seed("watermark", 0)), 0)
    wanted, _ = embed(key, given, classifier, cancer, config)
    for one, two in zip(read_pairs(cancer, Path("pairs.csv")), wanted, strict=True):
        np.testing.assert_array_equal(one, two)
    assert wanted.paired.sum() >= 5
    issued = read_all(cancer, classifier, QUERIES_CSV, Path("marked.csv"))
    np.testing.assert_array_equal(issued.cf, wanted.issued)
    assert (facts["scheme"], facts["config"]["steps"], facts["seed"]) == ("bilevel", 4, 0)


def test_no_answer_loses_its_class_or_breaks_the_schema(
    owned: Path, cancer: Dataset, classifier: Classifier
) -> None:
    table = read_table(owned / "marked.csv")
    assert list(table.columns) == list(read_table(owned / "cfs.csv").columns)
    values = cancer.encoder.encode(table)
    np.testing.assert_array_equal(predict(classifier, values), cancer.encoder.encode_labels(table))
    before, after = cancer.encoder.decode(cancer.query.x[:QUERIES]), cancer.encoder.decode(values)
    assert violations(cancer.schema, before, after).sum() == 0
    assert not table.equals(read_table(owned / "cfs.csv"))


def test_what_is_told_is_what_was_done(
    owned: Path, cfmark: Cfmark, cancer: Dataset, classifier: Classifier
) -> None:
    said = cfmark("watermark", *FILES, *QUICK, "--out", "new/m.csv", "--pairs", "new/p.csv", "--seed", 5)
    assert said.code == 0, said
    pairs = read_pairs(cancer, Path("new/p.csv"))
    before = read_all(cancer, classifier, QUERIES_CSV, CFS)
    q, p = (quality(e, cancer.encoder, classifier) for e in (before, before._replace(cf=pairs.issued)))
    assert f"new/m.csv: {QUERIES} counterfactuals marked" in said.err
    assert f"new/p.csv: {pairs.paired.sum()} pairs" in said.err
    assert f"valid 100.0% -> 100.0%, L1 {q.l1:.3f} -> {p.l1:.3f}, 0 violations" in said.err
    assert Path("new/m.csv").read_bytes() != Path("marked.csv").read_bytes()
    assert sorted(path.name for path in Path("new").iterdir()) == ["m.csv", "p.csv", "p.json"]


def test_the_same_seed_gives_the_same_files(owned: Path, cfmark: Cfmark) -> None:
    before = {name: Path(owned, name).read_bytes() for name in ("marked.csv", "pairs.csv", "pairs.json")}
    assert cfmark("watermark", *FILES, *QUICK, "--force").code == 0
    assert {name: Path(owned, name).read_bytes() for name in before} == before


def test_pieces_and_a_stopped_run(owned: Path, cfmark: Cfmark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watermark, "PIECE", 10)
    arguments = ["watermark", *FILES, *QUICK]
    assert cfmark(*arguments, "--out", "whole.csv", "--pairs", "whole_pairs.csv").code == 0
    real, firsts = watermark._mark_piece, []

    def mark(marking: Any, first: int, *rest: Any) -> Any:
        firsts.append(first)
        if firsts == [0, 10]:
            raise KeyboardInterrupt
        return real(marking, first, *rest)

    monkeypatch.setattr(watermark, "_mark_piece", mark)
    there = Path("pairs.csv").read_bytes()
    said = cfmark(*arguments, "--force")
    assert said.code == 130
    assert "Stopped. What is done is in marked.csv.part" in said.err
    assert Path("pairs.csv").read_bytes() == there
    error = cfmark(*arguments, "--resume", "--seed", 1).err.splitlines()[-1]
    assert error.startswith("error: marked.csv.part was made with another seed: ")
    said = cfmark(*arguments, "--resume")
    assert said.code == 0, said
    assert "(10 queries were there already)" in said.err
    assert firsts == [0, 10, 10, 20]
    assert Path("marked.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert Path("pairs.csv").read_bytes() == Path("whole_pairs.csv").read_bytes()


def test_several_answers_a_query_and_some_that_are_not_found(
    owned: Path, cfmark: Cfmark, cancer: Dataset, classifier: Classifier
) -> None:
    assert cfmark("explain", "--rows", "queries.csv", "-n", 2, "--out", "two.csv").code == 0
    table = read_table("two.csv")
    table.loc[5, "found"] = "False"
    table.loc[5, list(table.columns[3:])] = ""
    write_table(table, "two.csv")
    said = cfmark("watermark", "--rows", "queries.csv", "--cfs", "two.csv", *QUICK, "--force")
    assert said.code == 0, said
    pairs = read_pairs(cancer, Path("pairs.csv"))
    assert pairs.found.shape == (QUERIES, 2)
    assert not pairs.found[2, 1]
    assert pairs.found.sum() == table["found"].eq("True").sum()
    marked = read_table("marked.csv")
    assert (marked.loc[5].iloc[3:] == "").all()
    pieces = list(read_cfs(cancer, classifier, QUERIES_CSV, Path("two.csv"), size=14))
    assert [first for first, _ in pieces] == [0, 7, 14, 21]


def test_presets_and_knobs() -> None:
    paper = scheme_of("paper", "dice", "cancer", None, None, None)
    assert paper == preset("paper", "dice", "cancer").config
    mine = scheme_of("default", "mine", "mine", 0.03, 0.5, ["steps=7", "start=uniform"])
    assert (mine.delta, mine.proximity, mine.steps, mine.start) == (0.03, 0.5, 7, "uniform")


def edited(column: str, row: int, value: str) -> Callable[[], None]:
    def edit() -> None:
        table = read_table(CFS)
        table.loc[row, column] = value
        write_table(table, "cfs.csv")

    return edit


def without(column: str) -> Callable[[], None]:
    return lambda: write_table(read_table(CFS).drop(columns=column), "cfs.csv")


def fewer(path: str, rows: int) -> Callable[[], None]:
    return lambda: write_table(read_table(path).iloc[:rows], path)


def swapped() -> None:
    """The rows in another order: the answers ask for the classes that some have already."""
    write_table(read_table(QUERIES_CSV).iloc[::-1], QUERIES_CSV)


def unexplained() -> None:
    """The queries themselves in place of their counterfactuals."""
    table, rows = read_table(CFS), read_table(QUERIES_CSV)
    table[rows.columns] = rows
    write_table(table, CFS)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (without("cf"), "cfs.csv, column 'cf': the column is missing; is this a file that 'cfmark explain'"),
        (without("mean area"), "cfs.csv, column 'mean area': the column is missing; the table has "),
        (without("diagnosis"), "cfs.csv, column 'diagnosis': the column is missing"),
        (edited("mean area", 2, ""), "cfs.csv, row 3, column 'mean area': the value is missing"),
        (edited("mean area", 2, "NaN"), "cfs.csv, row 3, column 'mean area': the value is missing"),
        (edited("mean area", 2, "lots"), "cfs.csv, row 3, column 'mean area': 'lots' is not a number"),
        (edited("mean area", 2, "1e6"), "cfs.csv, row 3, column 'mean area': 1e6 is outside the schema's "),
        (edited("found", 3, "maybe"), "cfs.csv, row 4, column 'found': 'maybe' is neither True nor False"),
        (
            edited("query", 3, "9"),
            "cfs.csv, row 4, column 'query': '9' stands where 4 is due: one row an answer",
        ),
        (edited("diagnosis", 3, "fine"), "cfs.csv, row 4, column 'diagnosis': 'fine' is not one of "),
        (
            unexplained,
            "cfs.csv, row 1, column 'diagnosis': the model does not give this counterfactual its class",
        ),
        (swapped, "cfs.csv, row "),
        (fewer("cfs.csv", 20), "cfs.csv: the answers end after query 20, but not queries.csv"),
        (fewer("queries.csv", 20), "cfs.csv, row 21: there are more answers than queries.csv can have"),
        (fewer("cfs.csv", 0), "cfs.csv: the table has no rows"),
        (fewer("queries.csv", 0), "queries.csv: the table has no rows"),
    ],
)
def test_files_that_do_not_fit(spoil: Callable[[], None], message: str, owned: Path, cfmark: Cfmark) -> None:
    for name in ("marked.csv", "pairs.csv", "pairs.json"):
        (owned / name).unlink()
    spoil()
    assert cfmark("watermark", *FILES, *QUICK).error.startswith(message)
    assert sorted(path.name for path in owned.iterdir()) == ["cfs.csv", "queries.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pairs", "pairs.csv"], "--pairs pairs.csv: there already; pass --force to overwrite it"),
        (["--out", "cfs.csv"], "--out cfs.csv: that is a file to be read; choose another name"),
        (["--out", "./queries.csv"], "--out queries.csv: that is a file to be read; choose another name"),
        (["--out", "p.csv"], "--pairs p.csv: choose another name than --out has"),
        (["--out", "m.parquet"], "--out m.parquet: the answers are written as CSV"),
        (["--preset", "best"], "there is no preset 'best'; the presets are default and paper"),
        (["--preset", "paper", "--method", "mine"], "the paper has no hyper-parameters for mine on cancer"),
        (["--delta", "2"], "delta must be above 0 and at most 1"),
        (["--set", "delta=1"], "--set delta=1: there is no 'delta' to set; say --delta"),
        (["--set", "speed=1"], "--set speed=1: there is no 'speed' to set; bilevel has steps, "),
        (["--set", "poison_form=loud"], "form 'loud' is not one of log, kl, residual"),
        (["--cfs", "none.csv"], "none.csv: there is no such file"),
        (["--rows", "none.csv"], "none.csv: there is no such file"),
        (["--data", "heloc9"], "there is no data set 'heloc9'"),
        (["--model", "none.npz"], "none.npz: there is no such file"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: list[str], message: str, owned: Path, cfmark: Cfmark) -> None:
    there = {path.name: path.read_bytes() for path in owned.iterdir()}
    files = [*FILES, "--pairs", "p.csv"] if "--pairs" not in arguments else FILES
    assert cfmark("watermark", *files, *arguments).error.startswith(message)
    assert {path.name: path.read_bytes() for path in owned.iterdir()} == there


def test_usage(cfmark: Cfmark) -> None:
    assert cfmark("watermark").code == 2
    assert cfmark("watermark", "--cfs", "cfs.csv", "--seed", "-1").code == 2
    help_text = cfmark("watermark", "--help").out
    assert "Example: cfmark watermark" in help_text


def test_facts_are_json(owned: Path) -> None:
    facts = json.loads((owned / "pairs.json").read_text())
    assert set(facts) == {
        "format", "data", "scheme", "preset", "config", "seed", "rows", "cfs", "schema", "model",
    }  # fmt: skip
