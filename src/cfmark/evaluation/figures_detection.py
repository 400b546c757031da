"""Figures of who is flagged: confusion matrices, and the effects that the tests see."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cfmark.evaluation.figures_base import (
    COLOURS,
    FAINT,
    TEXT,
    heading,
    in_order,
    named,
    panels,
    preferred,
)
from cfmark.evaluation.tables_base import verdicts
from cfmark.evaluation.tables_detection import THIEVES, USUAL_LABELS
from cfmark.seeds import derive_seed

RIGHT, WRONG = "#0072B2", "#D55E00"


def confusion(frame: pd.DataFrame) -> dict[str, Figure]:
    """Return a grid of confusion matrices, methods by data sets, for the best test and for the paper's."""
    rows = _plain_suspects(verdicts(frame))
    rows = rows[rows["guilty"] | (rows["suspect"] == "query")]
    tests = preferred(rows, 2)
    return {
        "confusion" if place == 0 else f"confusion_{_file(test)}": _matrices(
            rows[rows["named"] == test], test
        )
        for place, test in enumerate(tests)
    }


def effects(frame: pd.DataFrame) -> dict[str, Figure]:
    """Return how the effects of each kind of suspect are spread, methods by data sets.

    The effect is the mean over pairs of the suspect's probability at the issued point minus that at its
    counterpart; each dot is a suspect.
    """
    rows = _plain_suspects(verdicts(frame))
    rows = rows[rows["test"] == "t"].drop_duplicates(["cell", "draw", "suspect", "seed"])
    methods, datasets = in_order(rows["explainer"]), in_order(rows["dataset"])
    kinds = in_order(rows["suspect"])[::-1]
    figure, axes = panels(len(methods), len(datasets), 0.35 + 0.23 * len(kinds), sharey=True)
    for i, method in enumerate(methods):
        for j, dataset in enumerate(datasets):
            cell = rows[(rows["explainer"] == method) & (rows["dataset"] == dataset)]
            heading(axes[i, j], f"{named(method)}, {named(dataset)}")
            _strips(axes[i, j], cell, kinds)
    figure.supxlabel("mean difference in probability, issued minus counterpart", fontsize=8.5, color=TEXT)
    return {"effects": figure}


def _plain_suspects(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the suspects of the assumed model, without removals."""
    usual = (rows["family"] == "mlp") & rows["labels"].isin(USUAL_LABELS)
    return rows[usual & (rows["strength"] == 0)]


def _matrices(rows: pd.DataFrame, test: str) -> Figure:
    methods, datasets = in_order(rows["explainer"]), in_order(rows["dataset"])
    figure, axes = panels(len(methods), len(datasets), 1.75)
    for i, method in enumerate(methods):
        for j, dataset in enumerate(datasets):
            cell = rows[(rows["explainer"] == method) & (rows["dataset"] == dataset)]
            heading(axes[i, j], f"{named(method)}, {named(dataset)}")
            _matrix(axes[i, j], cell, first=j == 0, last=i == len(methods) - 1)
    figure.suptitle(f"Suspects by the test: {test}", fontsize=9.5, color=TEXT, x=0.01, ha="left")
    return figure


def _matrix(axis: Axes, cell: pd.DataFrame, first: bool, last: bool) -> None:
    """Draw thieves and askers (rows) by flagged and not (columns); dark is the larger share of a row."""
    counts = np.array(
        [
            [int((cell["flagged"] == flag)[cell["guilty"] == guilty].sum()) for flag in (True, False)]
            for guilty in (True, False)
        ]
    )
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    colours = [
        [to_rgba(RIGHT if i == j else WRONG, 0.06 + 0.8 * shares[i, j]) for j in (0, 1)] for i in (0, 1)
    ]
    axis.imshow(colours, aspect="auto")
    for (i, j), count in np.ndenumerate(counts):
        ink = "white" if shares[i, j] > 0.5 else TEXT
        axis.text(j, i, str(count), ha="center", va="center", fontsize=11, color=ink)
    axis.set_xticks([0, 1], ["flagged", "cleared"] if last else ["", ""])
    axis.set_yticks([0, 1], ["thieves", "askers"] if first else ["", ""])
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def _strips(axis: Axes, cell: pd.DataFrame, kinds: list[str]) -> None:
    random = np.random.default_rng(derive_seed("figure", "effects"))
    axis.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
    for place, kind in enumerate(kinds):
        values = cell[cell["suspect"] == kind]["effect"].to_numpy(float)
        heights = place + random.uniform(-0.22, 0.22, len(values))
        filled = COLOURS[kind] if kind in THIEVES else "none"
        axis.scatter(
            values, heights, s=9, facecolors=filled, edgecolors=COLOURS[kind], linewidths=0.6, alpha=0.7
        )
        if len(values):
            middle = float(np.median(values))
            axis.plot([middle, middle], [place - 0.36, place + 0.36], color=TEXT, linewidth=1.4)
    axis.xaxis.set_major_locator(MaxNLocator(3))
    axis.set_yticks(range(len(kinds)), [named(kind) for kind in kinds])
    axis.set_ylim(-0.6, len(kinds) - 0.4)


def _file(test: str) -> str:
    return test.replace(", ", "_").replace(" ", "_")
