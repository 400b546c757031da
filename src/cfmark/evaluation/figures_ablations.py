"""Figures of the ablations, of what removals do, and of the losses during the embedding."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfmark.evaluation.figures_base import (
    COLOURS,
    FAINT,
    MARKERS,
    TEXT,
    heading,
    in_order,
    legend,
    named,
    offsets,
    panels,
    preferred,
)
from cfmark.evaluation.tables_base import of_record, variant_of, verdicts

LOSSES = ("poison", "validity", "regularisation")


def lambda3(frame: pd.DataFrame) -> dict[str, Figure]:
    """Return the share flagged and the poison loss of each attack, by the weight of the regularisation."""
    rows = _with_field(verdicts(frame), "regularisation")
    methods, tests, kinds = in_order(rows["explainer"]), preferred(rows, 2), in_order(rows["suspect"])
    figure, axes = panels(len(methods), len(tests) + 1, 1.9)
    for i, method in enumerate(methods):
        of_method = rows[rows["explainer"] == method]
        for j, test in enumerate(tests):
            heading(axes[i, j], f"{named(method)}: {test}")
            _bars(axes[i, j], of_method[of_method["named"] == test], kinds, "flagged")
            axes[i, j].set_ylim(0, 1.04)
            axes[i, j].yaxis.set_major_formatter("{x:.0%}")
        axes[i, 0].set_ylabel("flagged")
        heading(axes[i, -1], f"{named(method)}: poison loss")
        _bars(axes[i, -1], _models(of_method), kinds, "poison", spread=True)
    for axis in axes[-1]:
        axis.set_xlabel("weight of the regularisation, $\\lambda_3$")
    legend(figure, axes[0, 0])
    return {"lambda3": figure}


def data_augmentation(frame: pd.DataFrame) -> dict[str, Figure]:
    """Return the poison loss of MRCE with and without train rows in the imagined thief's training."""
    rows = _models(_with_field(verdicts(frame), "background"))
    rows = rows[rows["suspect"] == "mrce"]
    methods, sizes = in_order(rows["explainer"]), sorted(rows["background"].unique())
    figure, axes = panels(1, 1, 2.4)
    axis = axes[0, 0]
    shades = ("#B8B8B8", COLOURS["mrce"])
    places = offsets(len(sizes))
    for k, size in enumerate(sizes):
        groups = [rows[(rows["explainer"] == m) & (rows["background"] == size)]["poison"] for m in methods]
        label = f"with $D^t$ ({size:g} train rows a batch)" if size else "without $D^t$"
        x = [place + places[k] for place in range(len(methods))]
        _error_bars(axis, x, groups, 0.72 / len(sizes), shades[min(k, 1)], label)
    axis.set_xticks(range(len(methods)), list(map(named, methods)))
    axis.set_ylabel("poison loss of MRCE")
    legend(figure, axis)
    return {"data_augmentation": figure}


def removal(frame: pd.DataFrame) -> dict[str, Figure]:
    """Return the share of thieves still flagged, and their agreement with the owner, by strength."""
    rows = verdicts(frame)
    rows = rows[rows["guilty"]]
    (kind,) = set(rows["removal"]) - {""} or {"removal"}
    cells, thieves, tests = list(dict.fromkeys(rows["cell"])), in_order(rows["suspect"]), preferred(rows, 2)
    figure, axes = panels(len(cells), len(tests) + 1, 2.1, sharex=True)
    for i, cell in enumerate(cells):
        of_cell = rows[rows["cell"] == cell]
        first = of_cell.iloc[0]
        where = f"{named(first['explainer'])}, {named(first['dataset'])}"
        for j, test in enumerate(tests):
            heading(axes[i, j], f"{where}: {test}")
            _lines(axes[i, j], of_cell[of_cell["named"] == test], thieves, "flagged")
        axes[i, 0].set_ylabel("flagged")
        heading(axes[i, -1], f"{where}: agreement")
        _lines(axes[i, -1], of_cell[of_cell["named"] == tests[0]], thieves, "agreement")
    for axis in axes[-1]:
        axis.set_xlabel(
            {"finetune": "epochs of fine-tuning", "prune": "pruned share of weights"}.get(kind, kind)
        )
    legend(figure, axes[0, 0])
    return {"": figure}


def loss_curves(frame: pd.DataFrame) -> dict[str, Figure]:
    """Return the three losses of the embedding by outer step, methods by data sets; a band is two thirds."""
    rows = of_record(frame, "curve")
    methods, datasets = in_order(rows["explainer"]), in_order(rows["dataset"])
    figure, axes = panels(len(methods), len(datasets), 1.6, sharex=True)
    for i, method in enumerate(methods):
        for j, dataset in enumerate(datasets):
            cell = rows[(rows["explainer"] == method) & (rows["dataset"] == dataset)]
            heading(axes[i, j], f"{named(method)}, {named(dataset)}")
            for loss in LOSSES:
                _curve(axes[i, j], cell.groupby("step")[loss], loss)
    for axis in axes[-1]:
        axis.set_xlabel("outer step")
    legend(figure, axes[0, 0])
    return {"loss_curves": figure}


def _with_field(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows whose variant sets a field, with its value as a column."""
    values = [variant_of({"variant": variant}).get(name) for variant in rows["variant"]]
    numbers = pd.to_numeric(pd.Series(values, index=rows.index, dtype=object))
    return rows.assign(**{name: numbers, "level": numbers}).dropna(subset=["level"])


def _models(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row a suspect: what does not depend on the test."""
    return rows.drop_duplicates(["cell", "draw", "suspect", "labels", "family", "seed", "strength"])


def _bars(axis: Axes, rows: pd.DataFrame, kinds: list[str], value: str, spread: bool = False) -> None:
    levels = sorted(rows["level"].unique())
    for kind, offset in zip(kinds, offsets(len(kinds)), strict=True):
        groups = [rows[(rows["suspect"] == kind) & (rows["level"] == level)][value] for level in levels]
        x = [place + offset for place in range(len(levels))]
        _error_bars(axis, x, groups, 0.72 / len(kinds), COLOURS[kind], named(kind), spread)
    axis.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])


def _error_bars(
    axis: Axes,
    x: list[float],
    groups: list[Any],
    width: float,
    colour: str,
    label: str,
    spread: bool = True,
) -> None:
    heights = [float(group.astype(float).mean()) for group in groups]
    errors = [float(group.astype(float).std(ddof=0)) for group in groups] if spread else None
    axis.bar(
        x, heights, width, color=colour, label=label, yerr=errors, error_kw={"linewidth": 0.8, "ecolor": TEXT}
    )
    axis.axhline(0, color=FAINT, linewidth=0.8, zorder=0)


def _lines(axis: Axes, rows: pd.DataFrame, kinds: list[str], value: str) -> None:
    for kind in kinds:
        means = rows[rows["suspect"] == kind].astype({value: float}).groupby("strength")[value].mean()
        above = kind == "dual_cf"  # drawn last: dashed and hollow, so that what it lies on is seen
        axis.plot(
            means.index.to_numpy(),
            means.to_numpy(),
            label=named(kind),
            color=COLOURS[kind],
            linestyle="--" if above else "-",
            linewidth=1.4,
            marker=MARKERS.get(kind, "o"),
            markersize=5,
            markerfacecolor="white" if above else COLOURS[kind],
            clip_on=False,
        )
    axis.set_ylim(0, 1.04)
    axis.yaxis.set_major_formatter("{x:.0%}")


def _curve(axis: Axes, by_step: Any, loss: str) -> None:
    middle = by_step.mean()
    low, high = by_step.quantile(1 / 6), by_step.quantile(5 / 6)
    steps = np.asarray(middle.index, float)
    axis.fill_between(steps, low, high, color=COLOURS[loss], alpha=0.18, linewidth=0)
    axis.plot(steps, middle, color=COLOURS[loss], linewidth=1.3, label=loss)
    axis.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
