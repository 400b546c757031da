"""Counterfactuals per second: the three methods, and dice-ml on the same rows and the same model.

``python -m benchmarks.speed`` prints seconds with and without compilation, and ratios measured in this
one run. The authors' seconds were measured once, on a machine of the same size.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.data import numbers
from benchmarks.machine import provenance, save
from cfmark.data import Dataset, load
from cfmark.errors import MissingExtra
from cfmark.evaluation import quality
from cfmark.explainers import explain, fit_explainer
from cfmark.explainers.third_party import from_dice_ml
from cfmark.models import adapt, fit_classifier
from cfmark.seeds import derive_seed
from cfmark.types import Explainer, Explanations, FloatArray

SYNTHETIC = 10_000
#: Seconds of the authors' code on a machine like ours, on as many rows.
REFERENCE = {
    ("growing_sphere", "synthetic-10"): 234.0,
    ("growing_sphere", "cancer"): 9.8,
    ("dice", "cancer"): 1.0,
    ("cchvae", "cancer"): 11.7,
}


def main() -> None:
    """Measure and print."""
    own = [_own("growing_sphere", numbers(4 * SYNTHETIC, 10))]
    cancer = load("cancer", "paper")
    own += [_own(method, cancer) for method in ("growing_sphere", "dice", "cchvae")]
    print(markdown(own))
    others = _side_by_side(cancer)
    print(markdown(others))
    seeds = {"owner": "owner, DATASET", "explain": "speed, METHOD"}
    save("speed", provenance("make bench-speed", **seeds) | {"own": own, "side_by_side": others})


def markdown(lines: list[dict[str, Any]]) -> str:
    """Write rows as a Markdown table, one column a key."""
    heads = list(lines[0])
    rows = [[f"{v:,.2f}" if isinstance(v, float) else str(v) for v in line.values()] for line in lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows]) + "\n"


def _own(method: str, dataset: Dataset) -> dict[str, Any]:
    """Time a method on every row of Cancer, or on 10,000 synthetic rows."""
    classifier = fit_classifier(jax.random.key(derive_seed("owner", dataset.name)), dataset)
    key_fit, key_explain = jax.random.split(jax.random.key(derive_seed("speed", method)))
    explainer = fit_explainer(key_fit, method, dataset, classifier)
    x = _rows(dataset)
    first, again = (_timed(key_explain, explainer, x)[0] for _ in range(2))
    reference = REFERENCE[method, dataset.name]
    facts = {"explainer": method, "dataset": dataset.name, "rows": len(x)}
    speed = {"first_seconds": first, "seconds": again, "cfs_per_second": len(x) / again}
    return facts | speed | {"authors_seconds": reference, "ratio": reference / again}


def _rows(dataset: Dataset) -> FloatArray:
    if dataset.name == "cancer":
        return np.concatenate([dataset.train.x, dataset.query.x, dataset.holdout.x])
    return dataset.query.x[:SYNTHETIC]


def _side_by_side(dataset: Dataset) -> list[dict[str, Any]]:
    """Explain the same 100 rows of the same scikit-learn model with every engine."""
    table = dataset.encoder.decode(dataset.train.x)
    forest = RandomForestClassifier(100, random_state=0).fit(table, dataset.train.y)
    classifier = adapt(forest, dataset)
    x = dataset.query.x[:100]
    engines: dict[str, Callable[[], Explainer]] = {
        f"cfmark {method}": lambda method=method: fit_explainer(
            jax.random.key(0), method, dataset, classifier
        )
        for method in ("growing_sphere", "dice", "cchvae")
    }
    for method in ("random", "genetic"):
        engines[f"dice-ml {method}"] = lambda method=method: from_dice_ml(forest, dataset, classifier, method)
    lines = []
    for name, make in engines.items():
        try:
            explainer = make()
        except MissingExtra as problem:
            print(f"{name}: left out, {problem}")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name.startswith("cfmark"):
                _timed(jax.random.key(1), explainer, x)
            seconds, explanations = _timed(jax.random.key(1), explainer, x)
        speed = {"engine": name, "seconds": seconds, "cfs_per_second": len(x) / seconds}
        lines.append(speed | quality(explanations, dataset.encoder, classifier)._asdict())
    return lines


def _timed(key: jax.Array, explainer: Explainer, x: FloatArray) -> tuple[float, Explanations]:
    start = time.perf_counter()
    result = explain(key, explainer, x)
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main()
