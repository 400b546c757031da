"""What every figure shares: names, colours that a colour-blind reader can tell apart, plain axes, panels."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

NAMES = {
    "cancer": "Cancer",
    "credit": "Credit",
    "heloc": "HELOC",
    "loan": "Loan",
    "cchvae": "C-CHVAE",
    "dice": "DiCE",
    "growing_sphere": "Growing Sphere",
    "mrce": "MRCE",
    "dual_cf": "DualCF",
    "query": "Query",
    "true_labels": "true labels",
    "unmarked": "unmarked CFs",
    "foreign": "foreign marks",
}
#: Okabe and Ito's palette.
COLOURS = {
    "mrce": "#0072B2",
    "dual_cf": "#D55E00",
    "query": "#5A5A5A",
    "true_labels": "#009E73",
    "unmarked": "#CC79A7",
    "foreign": "#56B4E9",
    "poison": "#0072B2",
    "validity": "#D55E00",
    "regularisation": "#009E73",
}
MARKERS = {"mrce": "o", "dual_cf": "s", "query": "^"}
#: Which tests a figure shows, as far as they are there: the best first, then the paper's.
PREFERRED = ("ratio, queries", "mean, queries", "t, calibrated tau, queries", "t, paper tau")
TEXT, FAINT = "#222222", "#BBBBBB"
#: Inches; a page of a README shows it at its own size.
WIDTH = 8.2


def named(name: str) -> str:
    """Return how a thing is called in a figure."""
    return NAMES.get(name, name)


def panels(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    """Return a figure and its (rows, columns) axes; ``height`` is that of one row in inches."""
    width = WIDTH if columns > 1 else 0.65 * WIDTH
    figure = Figure(figsize=(width, height * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.flat:
        plain(axis)
    return figure, axes


def plain(axis: Axes) -> None:
    """Take off what says nothing."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(FAINT)
    axis.tick_params(colors=TEXT, labelsize=8, length=2.5, color=FAINT)
    axis.xaxis.label.set(fontsize=8.5, color=TEXT)
    axis.yaxis.label.set(fontsize=8.5, color=TEXT)


def heading(axis: Axes, text: str) -> None:
    """Put a panel's name above it."""
    axis.set_title(text, fontsize=9, color=TEXT, loc="left")


def legend(figure: Figure, axis: Axes) -> None:
    """Put one legend for all panels below them."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False, fontsize=8.5
    )


def preferred(rows: pd.DataFrame, most: int) -> list[str]:
    """Return the tests to show: the best that is there, and the paper's own."""
    there = [name for name in PREFERRED if name in set(rows["named"])]
    chosen = there if len(there) <= most else [*there[: most - 1], there[-1]]
    return chosen or list(dict.fromkeys(rows["named"]))[:most]


def in_order(values: "pd.Series[Any]") -> list[str]:
    """Return the values that are there, known ones in the house's order."""
    there = list(dict.fromkeys(values))
    return [name for name in NAMES if name in there] + [name for name in there if name not in NAMES]


def offsets(count: int, width: float = 0.75) -> list[float]:
    """Return where each of ``count`` bars stands in its group, which is ``width`` wide."""
    return [(place - (count - 1) / 2) * width / count for place in range(count)]
