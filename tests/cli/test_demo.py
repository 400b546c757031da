import contextlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from cfmark.calibration import CalibrationConfig
from cfmark.cli import demo, story
from cfmark.cli.models import open_model
from cfmark.cli.pairs_file import read_pairs
from cfmark.data import Dataset, load, read_table
from cfmark.evaluation import Quality, p_words
from cfmark.explainers import METHODS
from cfmark.types import predict
from cfmark.verification import Verdict

QUERIES = 16


class Shown(NamedTuple):
    """What the demo printed, and its folder."""

    out: str
    folder: Path

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads((self.folder / "summary.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load("cancer")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    """A demo of few queries, so that little is compiled."""
    folder = tmp_path_factory.mktemp("demo") / "new"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(demo, "QUERIES", QUERIES)
        patched.setattr(story, "SHADOWS", CalibrationConfig(fit=10, rank=19, power=10))
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            demo.demo(folder)
        yield Shown(said.getvalue(), folder)


def test_the_summary_has_what_is_promised(shown: Shown, dataset: Dataset) -> None:
    summary = shown.summary
    assert (summary["dataset"], summary["queries"]) == ("cancer", QUERIES)
    assert 0.95 <= summary["accuracy"] <= 1
    assert 0 < summary["seconds"] < 180
    assert list(summary["quality"]) == list(METHODS)
    for told in summary["quality"].values():
        assert set(told) == {*Quality._fields, "cfs_per_second"}
        assert told["queries"] == QUERIES
        assert told["found"] == told["validity"] == 1
        assert told["violations"] == 0
        assert 0 < told["l1"] < 4
        assert 1 <= told["changed"] <= len(dataset.schema.features)
        assert told["cfs_per_second"] > 0


def test_what_is_printed_is_what_is_written(shown: Shown) -> None:
    summary = shown.summary
    assert f"right on {summary['accuracy']:.1%} of the holdout rows" in shown.out
    assert "\n".join(summary["explanation"]) in shown.out
    assert "\n".join(summary["closing"]) in shown.out
    assert summary["marking"] in shown.out
    assert f"{summary['seconds']} s; the report is {shown.folder}/report.html" in shown.out.replace("\n", " ")
    lines = {line.split()[0]: line.split()[1:] for line in shown.out.splitlines() if line.strip()}
    for method, told in summary["quality"].items():
        assert lines[method] == [
            f"{told['found']:.1%}",
            f"{told['validity']:.1%}",
            f"{told['l1']:.2f}",
            f"{told['changed']:.1f}",
            f"{told['violations']}",
            f"{told['cfs_per_second']:,.0f}",
        ]


@pytest.mark.parametrize("method", METHODS)
def test_the_counterfactuals_are_valid(method: str, shown: Shown, dataset: Dataset) -> None:
    table = read_table(shown.folder / f"cfs_{method}.csv")
    assert table["query"].tolist() == [str(row) for row in range(1, QUERIES + 1)]
    assert set(table["found"]) == {"True"}
    classifier = open_model(dataset).classifier
    told = dataset.encoder.encode(table)
    queries = dataset.query.x[:QUERIES]
    np.testing.assert_array_equal(predict(classifier, told), 1 - predict(classifier, queries))
    np.testing.assert_array_equal(predict(classifier, told), dataset.encoder.encode_labels(table))
    l1 = np.abs(told - queries).sum(axis=1).mean()
    assert l1 == pytest.approx(shown.summary["quality"][method]["l1"], rel=1e-4)


def test_the_suspects_are_three_thieves_and_an_innocent(shown: Shown) -> None:
    suspects = shown.summary["suspects"]
    assert [suspect["guilty"] for suspect in suspects] == [True, True, True, False]
    page = (shown.folder / "report.html").read_text(encoding="utf-8")
    for suspect in suspects:
        verdicts = [Verdict.from_json(json.dumps(verdict)) for verdict in suspect["verdicts"]]
        assert [verdict.test for verdict in verdicts] == ["t", "calibrated"]
        flags = [verdict.test for verdict in verdicts if verdict.flagged]
        cells = [
            "thief" if suspect["guilty"] else "innocent",
            f"{suspect['agreement']:.1%}",
            f"{verdicts[0].effect:+.3f}",
            *(p_words(verdict.p_value) for verdict in verdicts),
            ", ".join(flags) or "none",
        ]
        line = next(line for line in table_of(shown.out) if line.startswith(f"{suspect['name']}  "))
        assert line.removeprefix(suspect["name"]).split() == " ".join(cells).split()
        assert f"  {suspect['name']}" in shown.out
        assert suspect["what"] in shown.out
        assert suspect["name"] in page
    asked = {suspect["name"]: suspect["requests"] for suspect in suspects}
    assert asked["queries only"] == QUERIES
    assert asked["MRCE"] == asked["MRCE, classes"] == 3 * QUERIES


def table_of(text: str) -> list[str]:
    """Return the lines of the table of verdicts."""
    return [line.strip() for line in text.partition("in truth")[2].splitlines()]


def test_what_is_issued_is_in_the_files(shown: Shown, dataset: Dataset) -> None:
    pairs = read_pairs(dataset, shown.folder / "pairs.csv")
    issued = dataset.encoder.encode(read_table(shown.folder / "marked.csv"))
    np.testing.assert_array_equal(pairs.issued[:, 0], issued)
    np.testing.assert_array_equal(
        pairs.counterpart[:, 0], dataset.encoder.encode(read_table(shown.folder / "cfs_cchvae.csv"))
    )
    marks = shown.summary["marks"]
    assert marks["pairs"] == pairs.paired.sum() > 1
    assert marks["before"]["validity"] == marks["after"]["validity"] == 1
    assert marks["after"]["violations"] == 0
    l1 = np.abs(issued - dataset.query.x[:QUERIES]).sum(axis=1).mean()
    assert marks["after"]["l1"] == pytest.approx(l1, rel=1e-4)
    classifier = open_model(dataset).classifier
    np.testing.assert_array_equal(predict(classifier, issued), pairs.target)


def test_the_explanation_is_in_the_files(shown: Shown, dataset: Dataset) -> None:
    head, *lines = shown.summary["explanation"]
    row = int(head.split()[1]) - 1
    served = [dataset.encoder.decode(dataset.query.x).iloc[row]]
    served += [read_table(shown.folder / name).iloc[row] for name in ("cfs_cchvae.csv", "marked.csv")]
    assert head.endswith(f"It would be {served[2]['diagnosis']} with:")
    told = {name: values for name, _, *values in shown.summary["example"]["rows"]}
    for name in dataset.schema.names:
        values = [float(table[name]) for table in served]
        assert (name in told) == (len(set(values)) > 1), name
        if name in told:
            assert list(map(float, told[name])) == values
    first = list(told)[: demo.SHOWN]
    assert [line.split(":")[0].strip() for line in lines if ":" in line] == first
    assert lines[-1] == f"  and {len(told) - len(first)} more"
    for name, line in zip(first, lines, strict=False):
        query, cf, issued = told[name]
        assert f"{name}: {query} -> {cf}" in line
        assert (f"issued as {issued}" in line) == (issued != cf)


def test_a_folder_that_cannot_be_made_is_found_at_once(
    cfmark: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_explained_by_all", lambda *_: 1 / 0)
    (tmp_path / "file").write_text("")
    assert cfmark("demo", "--out", "file/demo").error == "file/demo: Not a directory"
