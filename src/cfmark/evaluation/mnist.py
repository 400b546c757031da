"""The paper's case study as a picture: digits, counterfactuals, marked ones, and what the mark moved."""

from typing import Any, NamedTuple

import jax
import numpy as np
from matplotlib.figure import Figure

from cfmark.evaluation.desk import world_of
from cfmark.evaluation.figures_base import TEXT, heading, panels
from cfmark.explainers import explain
from cfmark.seeds import derive_seed
from cfmark.types import FloatArray, IntArray, MarkedExplanations, predict
from cfmark.watermark import embed, preset

SIDE = 28
COLUMNS = ("original", "counterfactual", "marked", "difference")


class CaseStudy(NamedTuple):
    """Some marked digits, and how they stand with the owner's model.

    Attributes
    ----------
    pairs
        The marked counterfactuals of all queries.
    chosen
        (k,) the rows to show.
    delta
        The bound of the mark.
    facts
        Queries, how many were found and marked, validity after marking, mean and largest change of a pixel.
    """

    pairs: MarkedExplanations
    chosen: IntArray
    delta: float
    facts: dict[str, Any]


def case_study(queries: int = 64, shown: int = 4) -> CaseStudy:
    """Explain zeros and ones with C-CHVAE and mark what is found."""
    dataset, classifier, explainer = world_of("mnist01", "cchvae", 1)
    config = preset("default", "cchvae", "mnist01").config
    random = np.random.default_rng(derive_seed("mnist", "queries"))
    x = dataset.query.x[random.choice(len(dataset.query.x), queries, replace=False)]
    key_explain, key_mark = jax.random.split(jax.random.key(derive_seed("mnist", "keys")))
    pairs, _ = embed(key_mark, explain(key_explain, explainer, x), classifier, dataset, config)
    found, paired = pairs.found[:, 0], pairs.paired[:, 0]
    moved = np.abs(pairs.issued - pairs.counterpart)[paired, 0]
    valid = predict(classifier, pairs.issued[found, 0]) == pairs.target[found]
    facts = {
        "queries": queries,
        "found": int(found.sum()),
        "marked": int(paired.sum()),
        "validity_after": float(valid.sum() / queries),
        "mean_change": float(moved.mean()) if len(moved) else 0.0,
        "largest_change": float(moved.max()) if len(moved) else 0.0,
    }
    return CaseStudy(pairs, _some_of_each(pairs, shown), config.delta, facts)


def picture(study: CaseStudy) -> Figure:
    """Draw a line for each chosen digit: original, counterfactual, marked, and what the mark moved."""
    figure, axes = panels(len(study.chosen), len(COLUMNS), 1.5)
    pairs = study.pairs
    for line, row in enumerate(study.chosen):
        issued, counterpart = pairs.issued[row, 0], pairs.counterpart[row, 0]
        for column, pixels in enumerate((pairs.x[row], counterpart, issued)):
            axes[line, column].imshow(_image(pixels), cmap="gray_r", vmin=0, vmax=1)
        drawn = axes[line, -1].imshow(
            _image(issued - counterpart), cmap="PuOr", vmin=-study.delta, vmax=study.delta
        )
        for axis in axes[line]:
            axis.set_xticks([])
            axis.set_yticks([])
            axis.spines[:].set_visible(False)
    for axis, name in zip(axes[0], COLUMNS, strict=True):
        heading(axis, name)
    bar = figure.colorbar(drawn, ax=axes[:, -1], shrink=0.5, ticks=[-study.delta, 0, study.delta])
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=TEXT, length=2)
    return figure


def _some_of_each(pairs: MarkedExplanations, count: int) -> IntArray:
    """Return rows that are marked, of both digits in turn."""
    marked = [np.flatnonzero(pairs.paired[:, 0] & (pairs.target == target)) for target in (1, 0)]
    return np.concatenate([rows[: count // 2] for rows in marked])


def _image(pixels: FloatArray) -> FloatArray:
    return pixels.reshape(SIDE, SIDE)
