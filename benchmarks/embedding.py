"""How fast the bi-level watermark is embedded, where the time goes, how it grows, and what memory it takes.

``python -m benchmarks.embedding``: 10 numeric columns, 2,500 counterfactuals, batches of 64, T = 50, K = 10,
8 + 8 networks of 64-32-16. The authors' code was measured once, on a machine of the same size.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.data import numbers
from benchmarks.machine import provenance, save
from cfmark.attacks import extract_many
from cfmark.data import Dataset, load
from cfmark.evaluation import peak_megabytes
from cfmark.explainers import explain, fit_explainer
from cfmark.models import JaxClassifier, fit_classifier
from cfmark.seeds import derive_seed
from cfmark.types import Explanations, FloatArray, Transcript
from cfmark.watermark import BilevelConfig, embed

WIDTH, CFS, MANY = 10, 2_500, 10_000
#: Counterfactuals per second of the authors' code, once compiled and with its compilation.
AUTHORS, AUTHORS_FIRST = 36.0, 33.0
#: What grows: the change, beside 256 counterfactuals of the base case.
SMALL = 256
GROWTH: dict[str, dict[str, Any]] = {
    "base": {},
    "n x 4": {"cfs": 4 * SMALL},
    "d x 4": {"width": 4 * WIDTH},
    "K x 2": {"unroll": 20},
    "T x 2": {"steps": 100},
    "ensembles x 2": {"ensemble": 16},
    "no budget": {"proximity": None},
}
BASE = BilevelConfig(proximity=0.02)
THIEVES = 20
#: The tables, in their order.
SHOWN = ("speed", "profile", "growth", "memory", "detection")


class Problem(NamedTuple):
    """Rows to mark."""

    dataset: Dataset
    classifier: JaxClassifier
    explanations: Explanations


def main() -> None:
    """Measure and print."""
    problem = make(WIDTH, CFS)
    peak = matrix_peak()
    speed = [_speed(problem, peak)]
    growth = [_growth(name, **change) for name, change in GROWTH.items()]
    tables = {
        "speed": speed,
        "profile": profile(problem),
        "growth": [line | {"ratio": line["seconds"] / growth[0]["seconds"]} for line in growth],
        "memory": [_memory(cfs) for cfs in (CFS, MANY)],
        "detection": detection(),
    }
    for lines in tables.values():
        print(markdown(lines))
    seeds = {"owner": "owner, DATASET", "embed": "embedding, embed", "thieves": "embedding, thieves"}
    save("embedding", provenance("make bench-embed", **seeds) | tables)


def markdown(lines: list[dict[str, Any]]) -> str:
    """Write rows as a Markdown table, one column a key."""
    heads = [name.replace("_", " ") for name in lines[0]]
    rows = [[_cell(value) for value in line.values()] for line in lines]
    rule = ["---" if isinstance(value, str) else "--:" for value in lines[0].values()]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *rows]) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def make(width: int, cfs: int) -> Problem:
    """Return counterfactuals on a synthetic table of ``width`` numeric columns."""
    dataset = numbers(4 * cfs + 4_000, width)
    classifier = fit_classifier(jax.random.key(derive_seed("owner", "synthetic", width)), dataset)
    key_fit, key = jax.random.split(jax.random.key(derive_seed("embedding", "explain")))
    explainer = fit_explainer(key_fit, "growing_sphere", dataset, classifier)
    found = explain(key, explainer, dataset.query.x)
    rows = np.flatnonzero(found.found[:, 0])[:cfs]
    return Problem(dataset, classifier, Explanations(*(part[rows] for part in found)))


def seconds_of(problem: Problem, config: BilevelConfig = BASE) -> float:
    """Time one call of ``embed``."""
    key = jax.random.key(derive_seed("embedding", "embed"))
    start = time.perf_counter()
    embed(key, problem.explanations, problem.classifier, problem.dataset, config)
    return time.perf_counter() - start


def matrix_peak() -> float:
    """Return the GFLOP/s of large matrix products, one on each core."""
    size, repeats = 1024, 8
    matrix = jnp.ones((size, size))
    product = jax.jit(lambda a: jax.lax.fori_loop(0, repeats, lambda _, b: a @ b / size, a))
    product(matrix).block_until_ready()

    def run(_: int) -> None:
        product(matrix).block_until_ready()

    best = np.inf
    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            start = time.perf_counter()
            list(pool.map(run, range(2)))
            best = min(best, time.perf_counter() - start)
    return float(2 * repeats * 2 * size**3 / best / 1e9)


def operations(width: int, config: BilevelConfig) -> float:
    """Return the floating-point operations of the products for one counterfactual, the thieves' steps alone.

    A layer costs n multiplications and additions a weight for each product of it with the rows: 3 in a
    gradient (2 in the first layer) and 6 in its derivative (2 in the first, and 2 for the rows).
    """
    sizes = [a * b for a, b in pairwise((width, *config.hidden, 2))]
    rows = 2 * config.batch_size + config.background
    products = (2 + 2 + 2) * sizes[0] + (3 + 6) * sum(sizes[1:])
    return 2.0 * rows * products * config.unroll * config.ensemble * config.steps / config.batch_size


def _speed(problem: Problem, peak: float) -> dict[str, Any]:
    first = seconds_of(problem)
    again = min(seconds_of(problem) for _ in range(2))
    reached = operations(WIDTH, BASE) * CFS / again / 1e9
    return {
        "cfs": CFS,
        "first_seconds": first,
        "seconds": again,
        "first_cfs_per_second": CFS / first,
        "cfs_per_second": CFS / again,
        "first_ratio": CFS / first / AUTHORS_FIRST,
        "ratio": CFS / again / AUTHORS,
        "gflops": reached,
        "peak_gflops": peak,
        "share_of_peak": reached / peak,
    }


def _growth(name: str, cfs: int = SMALL, width: int = WIDTH, **change: Any) -> dict[str, Any]:
    problem, config = make(width, cfs), replace(BASE, **change)
    seconds_of(problem, config)
    return {"case": name, "seconds": min(seconds_of(problem, config) for _ in range(3))}


def profile(problem: Problem) -> list[dict[str, Any]]:
    """Return where the time of one batch goes, by kind of compiled operation."""
    few = problem._replace(explanations=Explanations(*(part[:64] for part in problem.explanations)))
    seconds_of(few)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            seconds_of(few)
        (file,) = Path(folder).rglob("*.xplane.pb")
        planes = list(jax.profiler.ProfileData.from_file(str(file)).planes)
        total = dict.fromkeys(KINDS, 0.0)
        for event in (e for plane in planes for line in plane.lines for e in line.events):
            for kind, belongs in KINDS.items():
                if belongs(event.name):
                    total[kind] += event.duration_ns
                    break
    whole = sum(total.values()) - total["none"]
    return [{"operation": k, "share": v / whole} for k, v in total.items() if k != "none"]


#: Compiled operations by their names: "dot_general.12", "ynn_fusion.3", "add_multiply_fusion.2", ...
KINDS: dict[str, Callable[[str], bool]] = {
    "none": lambda name: "." not in name or " " in name or ":" in name or name.startswith(("while", "call")),
    "matrix products and sums": lambda name: name.startswith(("dot", "ynn")),
    "copies": lambda name: any(word in name for word in ("copy", "slice", "concatenate", "transpose")),
    "element by element": lambda name: True,
}


def _memory(cfs: int) -> dict[str, Any]:
    """Run in a process of its own: the system keeps one peak for a process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        before, peak = pool.apply(_peak, (cfs,))
    return {"cfs": cfs, "peak_mb": peak, "before_embedding_mb": before}


def _peak(cfs: int) -> tuple[int, int]:
    problem = make(WIDTH, cfs)
    before = round(peak_megabytes())
    seconds_of(problem)
    return before, round(peak_megabytes())


def detection() -> list[dict[str, Any]]:
    """Return how far thieves shift from cf to marked on Cancer, by what they were trained on."""
    dataset = load("cancer", "paper")
    classifier = fit_classifier(jax.random.key(derive_seed("owner", "cancer")), dataset)
    keys = jax.random.split(jax.random.key(derive_seed("embedding", "detection")), 3)
    explainer = fit_explainer(keys[0], "growing_sphere", dataset, classifier)
    found = explain(keys[1], explainer, dataset.query.x[:128])
    marked, _ = embed(keys[2], found, classifier, dataset, BilevelConfig())
    learnt = {
        "queries": [found.x],
        "queries and unmarked": [found.x, marked.counterpart[:, 0]],
        "queries and marked": [found.x, marked.issued[:, 0]],
    }
    lines = []
    for name, parts in learnt.items():
        x: FloatArray = np.concatenate(parts)
        nothing = np.zeros(len(x), np.int64)
        transcript = Transcript(x, classifier.predict_proba(x), nothing, nothing, len(x))
        thieves = jax.random.split(jax.random.key(derive_seed("embedding", "thieves", name)), THIEVES)
        suspects = extract_many(thieves, [transcript] * THIEVES)
        rows, target = marked.paired[:, 0], marked.target[marked.paired[:, 0]]
        both = marked.issued[rows, 0], marked.counterpart[rows, 0]
        answers = [[s.predict_proba(part)[np.arange(len(target)), target] for part in both] for s in suspects]
        shifts = [float((on_marked - on_cf).mean()) for on_marked, on_cf in answers]
        lines.append({"trained on": name, "shift": float(np.mean(shifts)), "sd": float(np.std(shifts))})
    return lines


if __name__ == "__main__":
    main()
