"""``cfmark demo``: the whole story on the embedded data."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from cfmark.cli.models import OpenModel
    from cfmark.data import Dataset
    from cfmark.evaluation import Quality

QUERIES = 128


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("build/demo"),
) -> None:
    """Run the whole story on the embedded Cancer data: train, explain, and say what was found.

    It needs no network and no files. What it prints goes to OUT/summary.json too, the counterfactuals to
    OUT/cfs_METHOD.csv.

    Example: cfmark demo --out build/demo
    """
    start = time.monotonic()
    from cfmark.cli.common import open_dataset, start_jax

    out.mkdir(parents=True, exist_ok=True)
    start_jax()
    from cfmark.cli import screen
    from cfmark.cli.models import open_model

    console = screen.console()
    dataset = open_dataset("cancer", "actionable")
    opened = open_model(dataset)
    console.print(_opening(dataset, opened))
    told: dict[str, Any] = {}
    sentence: list[str] = []
    table = screen.table("method", ">found", ">validity", ">L1", ">changed", ">violations", ">CFs/s")
    for method in ("growing_sphere", "dice", "cchvae"):
        measured, speed, words = _explained(dataset, opened, method, out)
        told[method] = {**measured._asdict(), "cfs_per_second": speed}
        sentence = sentence or words
        table.add_row(method, *_cells(measured), f"{speed:,.0f}")
    console.print(f"{QUERIES} queries, explained by each method:")
    console.print(table)
    console.print("\n".join(sentence))
    summary = {
        "dataset": "cancer",
        "queries": QUERIES,
        "accuracy": opened.accuracy,
        "quality": told,
        "explanation": sentence,
        "seconds": round(time.monotonic() - start, 1),
    }
    _write(out / "summary.json", summary)
    console.print(f"\n{summary['seconds']} s; the counterfactuals are in {out}/cfs_*.csv, all figures in")
    console.print(f"{out}/summary.json")


def _opening(dataset: "Dataset", opened: "OpenModel") -> str:
    rows = len(dataset.train.x), len(dataset.query.x), len(dataset.holdout.x)
    return (
        f"Breast cancer, {sum(rows)} biopsies of {len(dataset.schema.features)} measures: "
        f"{rows[0]} train rows, {rows[1]} query rows, {rows[2]} holdout rows.\n"
        f"The owner's classifier is right on {opened.accuracy:.1%} of the holdout rows.\n"
    )


def _explained(
    dataset: "Dataset", opened: "OpenModel", method: str, out: Path
) -> tuple["Quality", float, list[str]]:
    """Explain the queries with a method: its quality, its speed once compiled, and one answer in words."""
    import jax

    from cfmark.cli.stream import answers
    from cfmark.data import write_table
    from cfmark.evaluation import quality
    from cfmark.explainers import explain, fit_explainer
    from cfmark.seeds import derive_seed

    key_fit, key_explain = jax.random.split(jax.random.key(derive_seed("demo", method)))
    explainer = fit_explainer(key_fit, method, dataset, opened.classifier)
    x = dataset.query.x[:QUERIES]
    explain(key_explain, explainer, x)
    start = time.monotonic()
    explanations = explain(key_explain, explainer, x)
    seconds = time.monotonic() - start
    write_table(answers(dataset, explanations, 0), out / f"cfs_{method}.csv")
    return (
        quality(explanations, dataset.encoder, opened.classifier),
        round(len(x) / seconds, 1),
        _sentence(dataset, explanations),
    )


def _sentence(dataset: "Dataset", explanations: Any) -> list[str]:
    """Say one counterfactual in words: the first found one that changes about three features."""
    import numpy as np

    from cfmark.explainers import changed, changes

    encoder, labels = dataset.encoder, dataset.schema.labels
    counts = changed(encoder, explanations.x, explanations.cf[:, 0]).to_numpy()
    row = int(np.argmin(np.where(explanations.found[:, 0], np.abs(counts - 3), np.inf)))
    target = int(explanations.target[row])
    head = f"Query {row + 1} is classified {labels[1 - target]}. It would be {labels[target]} with:"
    return [head, *(f"  {line}" for line in changes(encoder, explanations.x[row], explanations.cf[row, 0]))]


def _cells(measured: "Quality") -> list[str]:
    return [
        f"{measured.found:.1%}",
        f"{measured.validity:.1%}",
        f"{measured.l1:.2f}",
        f"{measured.changed:.1f}",
        str(measured.violations),
    ]


def _write(path: Path, summary: dict[str, Any]) -> None:
    part = path.with_suffix(".json.part")
    part.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    part.replace(path)
