import contextlib
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from cfmark.cli import demo
from cfmark.cli.models import open_model
from cfmark.data import Dataset, load, read_table
from cfmark.evaluation import Quality
from cfmark.explainers import METHODS
from cfmark.types import predict

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
    assert f"{summary['seconds']} s; the counterfactuals are in {shown.folder}" in shown.out.replace(
        "\n", " "
    )
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


def test_the_sentence_is_a_counterfactual(shown: Shown, dataset: Dataset) -> None:
    head, *lines = shown.summary["explanation"]
    row = int(head.split()[1]) - 1
    before = dataset.encoder.decode(dataset.query.x).iloc[row]
    after = read_table(shown.folder / "cfs_growing_sphere.csv").iloc[row]
    assert head.endswith(f"It would be {after['diagnosis']} with:")
    assert lines
    told = {line.split(":")[0].strip(): line.split(":")[1].split("->") for line in lines}
    for name in dataset.schema.names:
        old, new = before[name], float(after[name])
        assert (name in told) == (old != new), name
        if name in told:
            assert [float(told[name][0]), float(told[name][1].split()[0])] == [old, new]


def test_a_folder_that_cannot_be_made_is_found_at_once(
    cfmark: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_explained", lambda *_: 1 / 0)
    (tmp_path / "file").write_text("")
    assert cfmark("demo", "--out", "file/demo").error == "file/demo: Not a directory"
