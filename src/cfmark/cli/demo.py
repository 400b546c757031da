"""``cfmark demo``: the whole story on the embedded data."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from cfmark.cli.models import OpenModel
    from cfmark.cli.story import Told
    from cfmark.data import Dataset
    from cfmark.evaluation import Quality, Report
    from cfmark.types import Explanations

QUERIES = 128
#: The method whose counterfactuals the story marks. Those of the others lie so near the boundary, here, that
#: DualCF learns nothing from them: its copy would agree with the owner on a third of the rows.
MARKED = "cchvae"
#: So many changes of the explanation are printed; the report has them all.
SHOWN = 4
HEADS = ("method", ">found", ">validity", ">L1", ">changed", ">violations", ">CFs/s")


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("build/demo"),
) -> None:
    """Run the whole story on the embedded Cancer data: explain, mark, steal, and find out who stole.

    It needs no network and no files. The verdicts are in OUT/report.html, what is printed in
    OUT/summary.json, counterfactuals in OUT/cfs_METHOD.csv, what is issued and the owner's pairs in
    OUT/marked.csv and OUT/pairs.csv.

    Example: cfmark demo --out build/demo
    """
    start = time.monotonic()
    from cfmark.cli.common import open_dataset, start_jax

    out.mkdir(parents=True, exist_ok=True)
    start_jax()
    from cfmark.cli import screen, story
    from cfmark.cli.models import open_model
    from cfmark.cli.verify import write_text

    console = screen.console()
    dataset = open_dataset("cancer", "actionable")
    opened = open_model(dataset)
    console.print(_opening(dataset, opened))
    console.print(f"{QUERIES} queries, explained by each method:")
    quality, explanations = _explained_by_all(dataset, opened, out)
    table = screen.table(*HEADS)
    for row in (rows := _quality_rows(quality)):
        table.add_row(*row)
    console.print(table)
    told = story.tell(dataset, opened, MARKED, explanations, out)
    marking, lines, closing = _marking(told), _example_lines(told), _closing(told)
    console.print(marking, *lines, "", *_roles(told), sep="\n")
    console.print(_verdicts(told))
    console.print(*closing, sep="\n")
    summary: dict[str, Any] = {"dataset": "cancer", "queries": QUERIES, "accuracy": opened.accuracy}
    summary |= {"quality": quality, "marking": marking, "explanation": lines, "closing": closing}
    summary |= story.summary_of(told)
    summary["seconds"] = round(time.monotonic() - start, 1)
    write_text(out / "report.html", _page(_report(dataset, opened, rows, told)))
    write_text(out / "summary.json", json.dumps(summary, indent=2) + "\n")
    console.print(f"\n{summary['seconds']} s; the report is {out}/report.html,")
    console.print(f"all figures are in {out}/summary.json")


def _opening(dataset: "Dataset", opened: "OpenModel") -> str:
    rows = len(dataset.train.x), len(dataset.query.x), len(dataset.holdout.x)
    return (
        f"Breast cancer, {sum(rows)} biopsies of {len(dataset.schema.features)} measures: "
        f"{rows[0]} train rows, {rows[1]} query rows, {rows[2]} holdout rows.\n"
        f"The owner's classifier is right on {opened.accuracy:.1%} of the holdout rows.\n"
    )


def _explained_by_all(
    dataset: "Dataset", opened: "OpenModel", out: Path
) -> "tuple[dict[str, dict[str, Any]], Explanations]":
    """Explain by each method: the quality of each, and the answers that are to be marked."""
    from cfmark.explainers import METHODS

    told, kept = {}, {}
    for method in METHODS:
        measured, speed, kept[method] = _explained(dataset, opened, method, out)
        told[method] = {**measured._asdict(), "cfs_per_second": speed}
    return told, kept[MARKED]


def _explained(
    dataset: "Dataset", opened: "OpenModel", method: str, out: Path
) -> "tuple[Quality, float, Explanations]":
    """Explain the queries as ``cfmark explain`` does: quality, speed once compiled, and the answers."""
    import jax

    from cfmark.cli.stream import answers
    from cfmark.data import write_table
    from cfmark.evaluation import quality
    from cfmark.explainers import explain, fit_explainer
    from cfmark.seeds import derive_seed

    key_fit, key_explain = jax.random.split(jax.random.key(derive_seed("explain", method, 0)))
    explainer = fit_explainer(key_fit, method, dataset, opened.classifier)
    x = dataset.query.x[:QUERIES]
    explain(key_explain, explainer, x)
    start = time.monotonic()
    explanations = explain(key_explain, explainer, x)
    seconds = time.monotonic() - start
    write_table(answers(dataset, explanations, 0), out / f"cfs_{method}.csv")
    measured = quality(explanations, dataset.encoder, opened.classifier)
    return measured, round(len(x) / seconds, 1), explanations


def _quality_rows(quality: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            method,
            f"{q['found']:.1%}",
            f"{q['validity']:.1%}",
            f"{q['l1']:.2f}",
            f"{q['changed']:.1f}",
            str(q["violations"]),
            f"{q['cfs_per_second']:,.0f}",
        )
        for method, q in quality.items()
    ]


def _marking(told: "Told") -> str:
    m = told.marks
    before, after = m["before"], m["after"]
    return (
        f"Marked: {m['pairs']} of the {m['counterfactuals']} counterfactuals of {m['method']} moved; others "
        f"could not.\nValid {before['validity']:.1%} -> {after['validity']:.1%}, L1 {before['l1']:.2f} -> "
        f"{after['l1']:.2f}, {after['violations']} violations.\n"
    )


def _example_lines(told: "Told") -> list[str]:
    """Say one explanation as it was and as it is issued; the report has all of its lines."""
    lines = []
    for feature, unit, query, cf, issued in told.example.rows[:SHOWN]:
        moved = f", issued as {issued}" if issued != cf else ""
        lines.append(f"  {feature}: {query} -> {cf}{moved}{' ' + unit if unit else ''}")
    more = len(told.example.rows) - len(lines)
    return [told.example.head, *lines, *([f"  and {more} more"] if more else [])]


def _roles(told: "Told") -> list[str]:
    width = max(len(accused.name) for accused in told.accused)
    return [f"  {accused.name:{width}}  {accused.what}" for accused in told.accused]


def _verdicts(told: "Told") -> "Table":
    from cfmark.cli import screen

    heads = ("suspect", "in truth", ">agreement", ">difference", ">p (t)", ">p (calibrated)", "flagged by")
    table = screen.table(*heads)
    for row in _verdict_rows(told):
        table.add_row(*row)
    return table


def _verdict_rows(told: "Told") -> list[tuple[str, ...]]:
    from cfmark.evaluation import p_words

    rows = []
    for a in told.accused:
        flags = [verdict.test for verdict in a.verdicts if verdict.flagged]
        p_values = (p_words(verdict.p_value) for verdict in a.verdicts)
        truth = "thief" if a.guilty else "innocent"
        effect = f"{a.verdicts[0].effect:+.3f}"
        rows.append((a.name, truth, f"{a.agreement:.1%}", effect, *p_values, ", ".join(flags) or "none"))
    return rows


def _closing(told: "Told") -> list[str]:
    """Say what the tests compare with, and how far they can be trusted."""
    t, calibrated = told.accused[0].verdicts
    models = sum(kind["samples"] for kind in calibrated.details["kinds"].values())
    flagged = told.calibration.power[calibrated.details["score"]]
    power = ", ".join(f"{share:.0%} of {kind}" for kind, share in flagged.items())
    return [
        f"Both tests compare with {models} innocent models: they learnt the same queries, no counterfactual.",
        f"At level {t.alpha:g}, one such innocent in {1 / t.alpha:.0f} would be flagged; the margin of t is "
        f"{t.tau:+.3f}.",
        f"The calibrated test flags, of thieves trained for the purpose: {power}.",
    ]


def _report(
    dataset: "Dataset", opened: "OpenModel", quality: list[tuple[str, ...]], told: "Told"
) -> "Report":
    from importlib.metadata import version

    from cfmark.evaluation import Report

    return Report(
        title="Who learnt from our counterfactuals?",
        opening=(*_opening(dataset, opened).strip().split("\n"), _marking(told), " ".join(_closing(told))),
        accused=tuple(told.accused),
        quality=(tuple(head.removeprefix(">") for head in HEADS), *quality),
        example=told.example,
        facts=(
            ("data", f"{dataset.name}, schema actionable, {QUERIES} query rows"),
            ("marks", f"bilevel, preset default, on counterfactuals of {MARKED}"),
            ("tests", "t with a calibrated margin; calibrated, pool queries, score ratio"),
            ("cfmark", version("cfmark")),
        ),
    )


def _page(report: "Report") -> str:
    from cfmark.evaluation import report_page

    return report_page(report)
