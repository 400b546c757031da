from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from cfmark.errors import ConfigError
from cfmark.evaluation import draw
from cfmark.evaluation.figures import FIGURES
from cfmark.evaluation.figures_base import preferred
from cfmark.evaluation.tables_base import verdicts
from evaluation_rows import AXES, Row, frame, suspects

PAPER_TEST = {"test": "t", "pool": "", "score": "", "margin": "paper"}


def flagged_rows(**fields: Any) -> list[Row]:
    both = [suspects(7, 10, suspect=kind, **fields) for kind in ("mrce", "dual_cf", "query", "unmarked")]
    return [row | test for rows in both for row in rows for test in ({}, PAPER_TEST)]


def curve_rows() -> list[Row]:
    return [
        AXES
        | {"record": "curve", "batch": b, "step": s, "poison": 0.1 * s, "validity": 0.0, "regularisation": b}
        for b in range(2)
        for s in range(5)
    ]


def rows_for(name: str) -> list[Row]:
    varied = {"lambda3": "regularisation", "data_augmentation": "background"}
    if name in varied:
        return [
            row
            for value in (0, 64)
            for row in flagged_rows(variant=f"{varied[name]}={value}", cell=str(value))
        ]
    if name == "removal":
        return flagged_rows() + flagged_rows(removal="prune", strength=0.5)
    return curve_rows() if name == "loss_curves" else flagged_rows()


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_with_ink(name: str, tmp_path: Path) -> None:
    paths = draw(frame(rows_for(name)), [name], tmp_path, "made")
    assert paths
    assert all(path.parent == tmp_path and path.name.startswith("made") for path in paths)
    for path in paths:
        pixels = np.asarray(Image.open(path).convert("L"))
        assert pixels.shape[1] >= 800
        assert 0.001 < (pixels < 200).mean() < 0.9


def test_a_confusion_matrix_shows_the_counts() -> None:
    figures = FIGURES["confusion"](frame(flagged_rows()))
    assert list(figures) == ["confusion", "confusion_t_paper_tau"]
    unusual = flagged_rows(labels="opposite") + flagged_rows(family="forest") + flagged_rows(strength=0.5)
    for rows in (flagged_rows(), flagged_rows() + unusual):
        (axis,) = FIGURES["confusion"](frame(rows))["confusion"].axes
        assert [text.get_text() for text in axis.texts] == ["14", "6", "7", "3"]


def test_bars_are_as_high_as_the_shares() -> None:
    figure = FIGURES["lambda3"](frame(rows_for("lambda3")))["lambda3"]
    assert [axis.get_title(loc="left") for axis in figure.axes] == [
        "DiCE: ratio, queries",
        "DiCE: t, paper tau",
        "DiCE: poison loss",
    ]
    assert {round(bar.get_height(), 6) for bar in figure.axes[0].patches} == {0.7}
    assert {round(bar.get_height(), 6) for bar in figure.axes[2].patches} == {0.5}


def test_a_removal_is_a_line_by_strength() -> None:
    figure = FIGURES["removal"](frame(rows_for("removal")))[""]
    rate, _, agreement = figure.axes
    assert [line.get_xdata().tolist() for line in rate.lines] == [[0.0, 0.5]] * 2
    np.testing.assert_allclose([line.get_ydata() for line in rate.lines], 0.7)
    np.testing.assert_allclose([line.get_ydata() for line in agreement.lines], 0.9)


def test_a_loss_curve_is_the_mean_over_batches() -> None:
    (axis,) = FIGURES["loss_curves"](frame(curve_rows()))["loss_curves"].axes
    by_name = {line.get_label(): line.get_ydata() for line in axis.lines}
    np.testing.assert_allclose(by_name["poison"], [0.0, 0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(by_name["regularisation"], 0.5)


def test_the_best_test_and_the_papers_are_shown() -> None:
    rows = verdicts(frame(flagged_rows() + suspects(1, 2, score="mean")))
    assert preferred(rows, 2) == ["ratio, queries", "t, paper tau"]
    assert preferred(rows[rows["test"] == "t"], 2) == ["t, paper tau"]


def test_a_figure_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no figure 'pie'; the figures are confusion"):
        draw(frame(flagged_rows()), ["pie"], tmp_path, "made")
