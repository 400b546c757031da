import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from cfmark.attacks import extract
from cfmark.cli import attack
from cfmark.cli.cf_file import read_all
from cfmark.cli.models import open_model
from cfmark.cli.service import Service
from cfmark.cli.watermark import scheme_of
from cfmark.data import Dataset, load, read_table, write_table
from cfmark.models import accuracy, load_classifier, read_facts
from cfmark.seeds import derive_seed
from cfmark.types import Classifier, Transcript, predict
from owner_files import CFS, QUERIES, QUERIES_CSV

Cfmark = Callable[..., Any]
MARKED = ["--rows", "queries.csv", "--cfs", "marked.csv"]


@pytest.fixture(scope="module")
def cancer() -> Dataset:
    return load("cancer")


@pytest.fixture(scope="module")
def classifier(cancer: Dataset) -> Classifier:
    return open_model(cancer).classifier


def test_a_copy_made_from_files(owned: Path, cfmark: Cfmark, cancer: Dataset, classifier: Classifier) -> None:
    said = cfmark("attack", "--kind", "mrce", *MARKED, "--out", "copy.npz", "--transcript", "t.csv")
    assert said.code == 0, said
    issued = read_all(cancer, classifier, QUERIES_CSV, Path("marked.csv"))
    x = np.concatenate([issued.x, issued.cf[:, 0]])
    y = classifier.predict_proba(x)
    key = jax.random.key(derive_seed("attack", "mrce", "soft", "mlp", 0))
    kinds = np.repeat([0, 1], QUERIES)
    wanted = extract(key, Transcript(x, y, kinds, np.tile(np.arange(QUERIES), 2), 0))
    copy = load_classifier("copy.npz")
    rows = cancer.holdout.x
    np.testing.assert_allclose(copy.predict_proba(rows), wanted.predict_proba(rows), rtol=1e-4)
    same, right = accuracy(copy, rows, predict(classifier, rows)), accuracy(copy, rows, cancer.holdout.y)
    assert f"{QUERIES} x query, {QUERIES} x counterfactual; {3 * QUERIES} rows were sent" in said.out
    assert (
        f"agrees with the owner's model on {same:.1%} of 113 holdout rows, and is right on {right:.1%}"
        in said.out
    )
    assert read_facts("copy.npz")["kind"] == "mrce"
    gathered = read_table("t.csv")
    np.testing.assert_array_equal(cancer.encoder.encode(gathered), x)
    assert gathered["kind"].tolist() == ["query"] * QUERIES + ["counterfactual"] * QUERIES
    shown = gathered[[f"p({label})" for label in cancer.schema.labels]].astype(float)
    np.testing.assert_allclose(shown, y, atol=1e-6)


def test_hard_labels_are_classes(owned: Path, cfmark: Cfmark, classifier: Classifier) -> None:
    said = cfmark("attack", "--kind", "mrce", *MARKED, "--labels", "hard", "--transcript", "t.csv")
    assert said.code == 0, said
    assert set(read_table("t.csv")["p(benign)"]) == {"0.0", "1.0"}
    assert sorted(owned.glob("*.npz")) == []


def test_assumed_labels_are_those_that_the_query_does_not_have(owned: Path, cfmark: Cfmark) -> None:
    said = cfmark("attack", "--kind", "mrce", *MARKED, "--labels", "opposite", "--transcript", "t.csv")
    assert said.code == 0, said
    half = QUERIES // 2
    assert f"{half} x query, {half} x counterfactual; {QUERIES} rows were sent" in said.out
    p = read_table("t.csv")["p(benign)"].astype(float).to_numpy()
    np.testing.assert_allclose(p[:half], 1 - p[half:], atol=1e-6)


def test_an_innocent_that_asks_nothing(
    cfmark: Cfmark, tmp_path: Path, cancer: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = cfmark("attack", "--kind", "true_labels", "--queries", 40, "--transcript", "t.csv")
    assert "40 rows with their true classes; nothing was asked" in said.out
    table = cancer.encoder.decode(cancer.query.x[:10])
    table["diagnosis"] = np.array(cancer.schema.labels)[cancer.query.y[:10]]
    write_table(table, "rows.csv")
    assert cfmark("attack", "--kind", "true_labels", "--rows", "rows.csv", "--transcript", "t.csv").code == 0
    gathered = read_table("t.csv")
    np.testing.assert_array_equal(
        gathered[f"p({cancer.schema.labels[1]})"].astype(float), cancer.query.y[:10]
    )


def test_rows_are_drawn_by_the_seed(cfmark: Cfmark, cancer: Dataset) -> None:
    drawn = []
    for seed in (0, 0, 1):
        said = cfmark("attack", "--kind", "query", "--queries", 9, "--seed", seed, "--transcript", "t.csv")
        assert "query: 9 x query; 9 rows were sent" in said.out
        drawn.append(read_table("t.csv").drop(columns=["kind", "p(malignant)", "p(benign)"]))
    assert drawn[0].equals(drawn[1])
    assert not drawn[0].equals(drawn[2])
    known = {row.tobytes() for row in cancer.query.x}
    assert len({row.tobytes() for row in cancer.encoder.encode(drawn[0])} & known) == 9


def test_the_service_answers_as_the_files_say(
    owned: Path, cancer: Dataset, classifier: Classifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the file the service makes the very answers that ``explain`` and ``watermark`` wrote."""
    monkeypatch.chdir(owned)
    issued = read_all(cancer, classifier, QUERIES_CSV, Path("marked.csv"))
    quick = ["steps=4", "unroll=2", "ensemble=2"]
    config = scheme_of("default", "growing_sphere", "cancer", None, 1.0, quick)
    service = Service(cancer, classifier, "growing_sphere", 1, config, 0)
    cf, found = service.oracle().explain(issued.x)
    np.testing.assert_array_equal(cf, issued.cf)
    np.testing.assert_array_equal(found, issued.found)
    again = Service(cancer, classifier, "growing_sphere", 1, config, 0, issued)
    np.testing.assert_array_equal(again.oracle().explain(issued.x[5:9])[0], issued.cf[5:9])
    mixed = np.concatenate([issued.cf[:3, 0], issued.x[:3]])
    cf, found = again.oracle().explain(mixed)
    np.testing.assert_array_equal(cf[3:], issued.cf[:3])
    np.testing.assert_array_equal(predict(classifier, cf[:3, 0]), predict(classifier, issued.x[:3]))
    assert found.all()


def test_duals_are_asked_for(owned: Path, cfmark: Cfmark, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = ["steps=4", "unroll=2", "ensemble=2"]
    real = scheme_of
    monkeypatch.setattr(attack, "scheme_of", lambda *a: real(*a[:-1], quick))
    said = cfmark("attack", "--kind", "dual_cf", *MARKED, "--proximity", 1)
    assert said.code == 0, said
    found = re.search(
        r"(\d+) x counterfactual, (\d+) x counterfactual of one; (\d+) rows were sent", said.out
    )
    assert found, said.out
    first, second, sent = map(int, found.groups())
    assert (first, sent) == (QUERIES, QUERIES + 2 * first + second)


def test_a_forest_is_not_saved(owned: Path, cfmark: Cfmark) -> None:
    error = cfmark("attack", "--kind", "mrce", *MARKED, "--family", "forest", "--out", "f.npz").error
    assert error.startswith("--out f.npz: only networks can be saved as plain numbers, a forest cannot")
    said = cfmark("attack", "--kind", "mrce", *MARKED, "--family", "forest")
    assert "The copy (forest, soft labels) agrees with the owner's model on" in said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "theft"], "--kind theft: choose one of query, mrce, dual_cf, true_labels"),
        (["--labels", "warm"], "--labels warm: choose one of soft, hard, opposite"),
        (["--family", "oak"], "--family oak: choose one of mlp, "),
        (["--out", "copy.bin"], "--out copy.bin: name a file that ends in .npz"),
        (
            ["--out", "none/copy.npz"],
            "--out none/copy.npz: name a file that ends in .npz, in a folder",
        ),
        (["--transcript", "marked.csv"], "--transcript marked.csv: that is a file to be read"),
        (["--transcript", "t.txt"], "--transcript t.txt: the answers are written as CSV"),
        (["--queries", 25], "--queries 25: there are 24 rows"),
        (["--rows", "none.csv"], "none.csv: there is no such file"),
        (["--cfs", "none.csv"], "none.csv: there is no such file"),
        (["--cfs", "bad.csv"], "bad.csv, row 2, column 'worst area': 'big' is not a number"),
        (["--rows", "bad.csv"], "bad.csv, row 2, column 'worst area': 'big' is not a number"),
        (
            ["--rows", "queries.csv", "--kind=true_labels"],
            "queries.csv, column 'diagnosis': the column is ",
        ),
        (["--method", "magic", "--kind", "dual_cf"], "there is no method 'magic'"),
        (["--preset", "best"], "there is no preset 'best'"),
        (["--model", "none:model"], "--model none:model: the module cannot be imported"),
    ],
)
def test_what_is_wrong_is_one_line(arguments: list[Any], message: str, owned: Path, cfmark: Cfmark) -> None:
    table = read_table(CFS)
    table.loc[1, "worst area"] = "big"
    write_table(table, "bad.csv")
    there = {path.name for path in owned.iterdir()}
    assert cfmark("attack", "--kind", "mrce", *MARKED, *arguments).error.startswith(message)
    assert {path.name for path in owned.iterdir()} == there


def test_usage(cfmark: Cfmark) -> None:
    assert cfmark("attack").code == 2
    assert cfmark("attack", "--kind", "mrce", "--queries", 0).code == 2
    assert "Example: cfmark attack --kind mrce" in cfmark("attack", "--help").out
