"""The report: all that it says is in the verdicts, and nothing in it comes from elsewhere."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from cfmark.evaluation import Accused, Example, Report, report_page
from cfmark.evaluation.report import BARS, HEIGHT, WIDTH, _differences, _rank, p_words
from cfmark.seeds import derive_seed
from cfmark.verification import Scores, calibrated_test, t_test


def accused(name: str, shift: float, guilty: bool | None = True) -> Accused:
    rng = np.random.default_rng(derive_seed("report", name))
    before = rng.uniform(0.3, 0.5, 60)
    scores = Scores(before + shift + rng.normal(0, 0.01, 60), before, np.ones(60, np.int64))
    nulls = rng.normal(0, 0.05, 199)
    verdicts = (t_test(scores, 0.05), calibrated_test(scores, {"queries, mlp": nulls}))
    return Accused(
        name, f"what {name} learnt", guilty, 0.9 if guilty is not None else None, scores, verdicts, nulls
    )


@pytest.fixture(scope="module")
def report() -> Report:
    return Report(
        title="Who <b>was it</b>?",
        opening=("A sentence & another.",),
        accused=(accused("a thief", 0.2), accused("nobody", 0.0, guilty=False)),
        quality=(("method", "found"), ("dice", "100 %")),
        example=Example(
            "Query 3 is <bad>.", (("area", "mm", "1", "2", "2.5"), ("edge", "", "4", "4", "4.1"))
        ),
        facts=(("seed", "7"),),
    )


class Tags(HTMLParser):
    """Refuse tags that do not close in order; keep the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def text_of(page: str) -> str:
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return " ".join(" ".join(tags.words).split())


def test_the_page_is_whole_and_stands_alone(report: Report) -> None:
    page = report_page(report)
    text_of(page)
    assert not re.findall(r"https?:|//|src=|href=|url\(|@import|<script|<link", page)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_whatever_it_is_told_stays_text(report: Report) -> None:
    page = report_page(report)
    assert "<b>" not in page
    assert "Who &lt;b&gt;was it&lt;/b&gt;?" in page
    assert "Query 3 is <bad>." in text_of(page)


def test_every_verdict_is_in_it(report: Report) -> None:
    text = text_of(report_page(report))
    for one in report.accused:
        assert f"What {one.name} learnt." in text
        for verdict in one.verdicts:
            assert f"{'flagged' if verdict.flagged else 'not flagged'} , p {p_words(verdict.p_value)}" in text
            assert f"{verdict.effect:+.3f}" in text
    thief, nobody = report.accused
    assert all(verdict.flagged for verdict in thief.verdicts)
    assert not any(verdict.flagged for verdict in nobody.verdicts)
    for sentence in thief.verdicts[0].assumptions:
        assert sentence in text


def test_a_report_of_one_suspect_needs_neither_truth_nor_example() -> None:
    suspect = accused("copy.npz", 0.1, guilty=None)._replace(nulls=None)
    page = report_page(Report("Copied?", (), (suspect,)))
    text = text_of(page)
    assert "thief" not in text
    assert "innocent shadow models" not in text
    assert "before and after" not in text
    assert page.count("<svg") == 1


def test_the_figures_show_every_difference(report: Report) -> None:
    one = report.accused[0]
    figure = _differences(one, 0.3)
    step = WIDTH / BARS
    counts, _ = np.histogram(np.clip(one.scores.difference, -0.3, 0.3), BARS, (-0.3, 0.3))
    heights = np.zeros(BARS)
    for bar in figure.bars:
        heights[round(bar.x / step)] = bar.height
    np.testing.assert_allclose(heights, HEIGHT * counts / counts.max())
    marks = {mark.kind: mark for mark in figure.marks}
    assert marks["zero"].x == WIDTH / 2
    assert marks["tau"].x == pytest.approx((0.05 + 0.3) / 0.6 * WIDTH)
    mean = float(one.scores.difference.mean())
    assert marks["mean"].x == pytest.approx((mean + 0.3) / 0.6 * WIDTH)
    assert marks["mean"].label == f"mean {mean:+.3f}"


def test_the_rank_is_right_of_the_shadows_when_the_p_value_is_smallest(report: Report) -> None:
    for one in report.accused:
        figure = _rank(one)
        assert figure is not None
        share = sum(bar.height for bar in figure.bars if bar.x > figure.marks[0].x)
        everything = sum(bar.height for bar in figure.bars)
        assert share / everything == pytest.approx(one.verdicts[1].p_value, abs=0.06)
        assert f"the suspect's is {one.verdicts[1].statistic:.3g}" in figure.words


def test_answers_that_are_all_alike_have_a_figure() -> None:
    same = Scores(np.full(9, 0.5), np.full(9, 0.5), np.ones(9, np.int64))
    verdicts = (t_test(same), calibrated_test(same, {"queries, mlp": np.zeros(19)}))
    flat = Accused("flat", "nothing", None, None, same, verdicts, np.zeros(19))
    assert report_page(Report("Flat?", (), (flat,))).count("<svg") == 2
