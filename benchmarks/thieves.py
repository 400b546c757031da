"""How long 50 thieves of each family take to train, and how far they agree with the owner.

``python -m benchmarks.thieves``. Every thief learns from the same MRCE transcript of Cancer: 128 query rows
and their counterfactuals, with soft labels; thieves differ in their seeds.
"""

import resource
import time
from typing import Any

import jax
import numpy as np

from benchmarks.machine import provenance, save
from cfmark.attacks import FAMILIES, LocalOracle, agreement, extract_many, mrce
from cfmark.data import Dataset, load
from cfmark.explainers import explain, fit_explainer
from cfmark.models import fit_classifier
from cfmark.seeds import derive_seed
from cfmark.types import BoolArray, Classifier, FloatArray, Transcript

THIEVES, QUERIES, RUNS = 50, 128, 2
METHOD = "growing_sphere"
#: Seconds that the authors' code takes for one extracted network, on a machine of this size.
AUTHORS = 0.65


def main() -> None:
    """Measure, print, and write results/thieves.json."""
    dataset = load("cancer", "paper")
    owner = fit_classifier(jax.random.key(derive_seed("owner", dataset.name)), dataset)
    transcript = _transcript(dataset, owner)
    families = [_measured(family, transcript, owner, dataset.holdout.x) for family in FAMILIES]
    print(table(families))
    seeds = {"owner": "owner, cancer", "rows": "thieves, rows", "thieves": "thieves, FAMILY"}
    found = {"rows": len(transcript.x), "columns": dataset.width, "thieves": THIEVES, "families": families}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    save("thieves", provenance("make bench-thieves", **seeds) | found | {"peak_megabytes": peak})


def table(families: list[dict[str, Any]]) -> str:
    """Write the families as a Markdown table."""
    lines = [
        f"| family | first run, s | s for {THIEVES} | s each | CPU s | authors' time, times | agreement |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['family']} | {row['first_seconds']:.1f} | {row['seconds']:.2f} | {row['seconds_each']:.3f} "
        f"| {row['cpu_seconds']:.2f} | {row['ratio']:.1f} | {row['agreement']:.1%} |"
        for row in families
    ]
    return "\n".join(lines)


def _transcript(dataset: Dataset, owner: Classifier) -> Transcript:
    """Ask a service in this process; what its answers carry does not matter to the time."""
    key_fit, key_explain = jax.random.split(jax.random.key(derive_seed("thieves", "explain")))
    explainer = fit_explainer(key_fit, METHOD, dataset, owner)

    def issue(x: FloatArray) -> tuple[FloatArray, BoolArray]:
        answers = explain(key_explain, explainer, x)
        return answers.cf, answers.found

    random = np.random.default_rng(derive_seed("thieves", "rows"))
    x = dataset.query.x[random.choice(len(dataset.query.x), QUERIES, replace=False)]
    return mrce(LocalOracle(owner, issue), x)


def _measured(family: str, transcript: Transcript, owner: Classifier, x: FloatArray) -> dict[str, Any]:
    """Train 50 thieves once with the compilation, and a few times without: the best of these counts."""
    keys = jax.random.split(jax.random.key(derive_seed("thieves", family)), THIEVES)
    seconds, busy = [], []
    for _ in range(1 + RUNS):
        start, start_busy = time.perf_counter(), time.process_time()
        models = extract_many(keys, [transcript] * THIEVES, family)
        seconds.append(time.perf_counter() - start)
        busy.append(time.process_time() - start_busy)
    best = min(seconds[1:])
    return {
        "family": family,
        "first_seconds": seconds[0],
        "seconds": best,
        "seconds_each": best / THIEVES,
        "cpu_seconds": min(busy[1:]),
        "ratio": AUTHORS * THIEVES / best,
        "agreement": float(np.mean([agreement(model, owner, x) for model in models])),
    }


if __name__ == "__main__":
    main()
