"""A report of verdicts as one HTML file: no script, no link to anywhere, light and dark, fit for print."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cfmark.verification import Scores, Verdict

#: Size of a figure, in its own units, and how many bars it has.
WIDTH, HEIGHT, BARS = 320.0, 84.0, 40


class Accused(NamedTuple):
    """One suspect of a report.

    Attributes
    ----------
    name, what
        What it is called, and a phrase on what it learnt from.
    guilty
        Whether it really learnt from issued counterfactuals; None where nobody knows.
    agreement
        The share of holdout rows to which it gives the owner's class; None if not measured.
    scores
        Its answers at the pairs.
    verdicts
        The outcome of each test.
    nulls
        The scores of innocent shadows that the calibrated test ranked it among, all kinds together.
    """

    name: str
    what: str
    guilty: bool | None
    agreement: float | None
    scores: Scores
    verdicts: tuple[Verdict, ...]
    nulls: NDArray[np.float64] | None = None


class Example(NamedTuple):
    """One explanation before and after marking: a sentence, and a row (feature, unit, three values) each."""

    head: str
    rows: tuple[tuple[str, str, str, str, str], ...]


class Report(NamedTuple):
    """What a report shows, in this order.

    Attributes
    ----------
    title, opening
        The headline, and sentences that say what was done.
    accused
        The suspects.
    quality
        Column heads and rows of a table, as they are printed; empty for none.
    example
        One explanation before and after marking.
    facts
        What the verdicts were made with: names and values.
    """

    title: str
    opening: tuple[str, ...]
    accused: tuple[Accused, ...]
    quality: tuple[tuple[str, ...], ...] = ()
    example: Example | None = None
    facts: tuple[tuple[str, str], ...] = ()


class Bar(NamedTuple):
    """A bar of a figure, in its units; it stands on the axis."""

    x: float
    width: float
    height: float


class Mark(NamedTuple):
    """An upright line in a figure: where, what it is, and what is written at it."""

    x: float
    kind: str
    label: str


class Figure(NamedTuple):
    """A histogram with marks; ``words`` say the same for who cannot see it."""

    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]
    ends: tuple[str, str]
    words: str


def report_page(report: Report) -> str:
    """Return the report as one HTML document."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("cfmark.evaluation", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    edge = _edge([accused.scores.difference for accused in report.accused])
    figures = [(_differences(accused, edge), _rank(accused)) for accused in report.accused]
    page = environment.get_template("report.html")
    return page.render(
        report=report, figures=figures, assumed=_assumed(report), p_words=p_words, W=WIDTH, H=HEIGHT
    )


def p_words(p_value: float) -> str:
    """Write a p-value: three decimals, or below which power of ten it is.

    >>> p_words(0.0421), p_words(0.0004), p_words(1e-12)
    ('0.042', '< 0.001', '< 0.001')
    """
    return f"{p_value:.3f}" if p_value >= 0.001 else "< 0.001"


def _differences(accused: Accused, edge: float) -> Figure:
    """Draw the differences of a suspect from -edge to edge, with their mean and the t-test's margin."""
    d = accused.scores.difference
    mean = float(d.mean())
    margins = [v.tau for v in accused.verdicts if v.tau is not None]
    marks = [("zero", 0.0, "0"), *(("tau", tau, f"margin {tau:+.3f}") for tau in margins[:1])]
    marks.append(("mean", mean, f"mean {mean:+.3f}"))
    words = (
        f"Histogram of {len(d)} differences from {d.min():+.3f} to {d.max():+.3f}; their mean is {mean:+.3f}."
    )
    return _figure(d, -edge, edge, marks, words)


def _rank(accused: Accused) -> Figure | None:
    """Draw the shadows' scores, and where the suspect's stands."""
    ranked = [v for v in accused.verdicts if v.test == "calibrated" and v.statistic is not None]
    if accused.nulls is None or not ranked:
        return None
    score = float(ranked[0].statistic or 0)
    both = np.append(accused.nulls, score)
    room = 0.08 * float(np.ptp(both)) or 1.0
    words = f"Histogram of the scores of {len(accused.nulls)} innocent models; the suspect's is {score:.3g}."
    marks = [("mean", score, f"suspect {score:.3g}")]
    return _figure(accused.nulls, float(both.min()) - room, float(both.max()) + room, marks, words)


def _figure(
    values: ArrayLike, low: float, high: float, marks: Sequence[tuple[str, float, str]], words: str
) -> Figure:
    counts, edges = np.histogram(np.clip(values, low, high), BARS, (low, high))
    step = WIDTH / BARS
    tallest = max(int(counts.max()), 1)
    bars = [Bar(i * step, step, HEIGHT * count / tallest) for i, count in enumerate(counts) if count]
    placed = [Mark((at - low) / (high - low) * WIDTH, kind, label) for kind, at, label in marks]
    inside = [mark._replace(x=float(np.clip(mark.x, 1, WIDTH - 1))) for mark in placed]
    return Figure(tuple(bars), tuple(inside), (f"{edges[0]:.3g}", f"{edges[-1]:.3g}"), words)


def _edge(differences: Sequence[NDArray[np.float64]]) -> float:
    """Return the half width of the figures' axis: nearly all differences are within."""
    sizes = np.abs(np.concatenate(differences))
    return max(float(np.quantile(sizes, 0.98)), 0.01)


def _assumed(report: Report) -> Mapping[str, list[str]]:
    """Return what each test assumed, by its name; what is different for a suspect stays with its verdict."""
    assumed: dict[str, Any] = {}
    for accused in report.accused:
        for verdict in accused.verdicts:
            listed = assumed.setdefault(verdict.test, list(verdict.assumptions))
            assumed[verdict.test] = [sentence for sentence in listed if sentence in verdict.assumptions]
    return assumed
