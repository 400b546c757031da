"""Validity and proximity of unmarked counterfactuals in the paper's twelve cells, beside its Table 2.

``python -m benchmarks.quality``; data sets whose files are absent are left out, with the reason.
"""

import sys
import time
from typing import Any

import jax
import numpy as np

from benchmarks.machine import provenance, save
from cfmark.data import Dataset, is_present, load
from cfmark.evaluation import quality
from cfmark.explainers import METHODS, explain, fit_explainer
from cfmark.models import JaxClassifier, accuracy, fit_classifier
from cfmark.seeds import derive_seed
from cfmark.types import FloatArray

#: The paper's Table 2, rows "Original": validity and L1 proximity.
PAPER = {
    ("cchvae", "cancer"): (1.0, 3.23),
    ("cchvae", "credit"): (1.0, 4.40),
    ("cchvae", "heloc"): (1.0, 3.73),
    ("cchvae", "loan"): (1.0, 6.90),
    ("dice", "cancer"): (0.99, 4.21),
    ("dice", "credit"): (0.90, 3.98),
    ("dice", "heloc"): (0.90, 8.39),
    ("dice", "loan"): (0.67, 9.01),
    ("growing_sphere", "cancer"): (1.0, 3.50),
    ("growing_sphere", "credit"): (0.99, 5.18),
    ("growing_sphere", "heloc"): (1.0, 3.67),
    ("growing_sphere", "loan"): (1.0, 7.57),
}
ROWS = 1000
SCHEMAS = ("paper", "actionable")


def main() -> None:
    """Measure every cell and print the table."""
    cells = []
    for name in ("cancer", "credit", "heloc", "loan"):
        if not is_present(name):
            print(f"{name}: left out, its files are not here (cfmark datasets get {name})")
            continue
        for schema in SCHEMAS:
            cells += _cells(name, schema)
    for schema in SCHEMAS:
        print(f"schema {schema}\n\n{table(cells, schema)}\n")
    save(
        "quality",
        provenance(
            "make bench-quality",
            owner="owner, DATASET",
            rows="quality, DATASET, rows",
            explain="quality, METHOD",
        )
        | {"cells": cells},
    )


def _cells(name: str, schema: str) -> list[dict[str, Any]]:
    dataset = load(name, schema)
    classifier = fit_classifier(jax.random.key(derive_seed("owner", name)), dataset)
    right = accuracy(classifier, dataset.holdout.x, dataset.holdout.y)
    return [_cell(dataset, classifier, right, schema, method) for method in METHODS]


def _cell(
    dataset: Dataset, classifier: JaxClassifier, right: float, schema: str, method: str
) -> dict[str, Any]:
    key_fit, key_explain = jax.random.split(jax.random.key(derive_seed("quality", method)))
    explainer = fit_explainer(key_fit, method, dataset, classifier)
    x = _rows(dataset)
    explain(key_explain, explainer, x)
    start = time.perf_counter()
    explanations = explain(key_explain, explainer, x)
    seconds = time.perf_counter() - start
    measured = quality(explanations, dataset.encoder, classifier)
    print(f"{dataset.name} {schema} {method}: {measured}", file=sys.stderr)
    facts = {"dataset": dataset.name, "schema": schema, "explainer": method, "accuracy": round(right, 4)}
    return facts | {**measured._asdict(), "cfs_per_second": round(len(x) / seconds)}


def _rows(dataset: Dataset) -> FloatArray:
    """Draw query rows: a table may be in the order of its years."""
    rows = np.random.default_rng(derive_seed("quality", dataset.name, "rows"))
    return dataset.query.x[rows.permutation(len(dataset.query.x))[:ROWS]]


def table(cells: list[dict[str, Any]], schema: str) -> str:
    """Write the cells of a schema as a Markdown table; ``paper`` has the paper's figures beside ours."""
    beside = schema == "paper"
    paper = (" paper |", "--:|") if beside else ("", "")
    lines = [
        f"| method | data | queries | validity |{paper[0]} L1 |{paper[0]} changed | violations | CFs/s |",
        f"|---|---|--:|--:|{paper[1]}--:|{paper[1]}--:|--:|--:|",
    ]
    for cell in sorted((c for c in cells if c["schema"] == schema), key=lambda c: str(c["explainer"])):
        validity, l1 = (f" {v} |" if beside else "" for v in PAPER[cell["explainer"], cell["dataset"]])
        lines.append(
            f"| {cell['explainer']} | {cell['dataset']} | {cell['queries']:,} | {cell['validity']:.3f} |"
            f"{validity} {cell['l1']:.2f} |{l1} {cell['changed']:.1f} | {cell['violations']} "
            f"| {cell['cfs_per_second']:,} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
