"""The second half of the demo: mark the counterfactuals, let thieves copy the model, and judge the copies."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from cfmark.attacks import agreement, attacked, extract
from cfmark.calibration import Calibration, CalibrationConfig
from cfmark.cli.models import OpenModel
from cfmark.cli.pairs_file import pairs_table
from cfmark.cli.service import Service
from cfmark.cli.shadows import Case, calibrated, nulls_of
from cfmark.cli.stream import answers
from cfmark.data import Dataset, write_table
from cfmark.evaluation import Accused, Example, quality
from cfmark.explainers import changed, shown
from cfmark.seeds import derive_seed
from cfmark.types import Explanations, MarkedExplanations
from cfmark.verification import decide, score
from cfmark.watermark import BilevelConfig, embed, preset

#: All of these were settled before any suspect of the demo was looked at.
ALPHA = 0.05
POOL = "queries"
SHADOWS = CalibrationConfig(alpha=ALPHA)


class Role(NamedTuple):
    """A suspect of the story: its name, what it gathers, which labels it learns, and that in words."""

    name: str
    attack: str
    labels: str
    guilty: bool
    what: str


ROLES = (
    Role("MRCE", "mrce", "soft", True, "thief: learns {n} queries and their counterfactuals"),
    Role("DualCF", "dual_cf", "soft", True, "thief: learns {n} counterfactuals and those of them"),
    Role("MRCE, classes", "mrce", "hard", True, "thief: as MRCE, but keeps only classes"),
    Role("queries only", "query", "soft", False, "innocent: learns {n} queries, no counterfactual"),
)


class Told(NamedTuple):
    """What the story found.

    Attributes
    ----------
    marks
        The marks in numbers: pairs, and quality before and after.
    accused
        The suspects, with their verdicts.
    requests
        How many rows each suspect sent to the service.
    calibration
        The shadows that the tests were calibrated on.
    example
        One explanation before and after marking.
    """

    marks: dict[str, Any]
    accused: list[Accused]
    requests: list[int]
    calibration: Calibration
    example: Example


def tell(dataset: Dataset, opened: OpenModel, method: str, explanations: Explanations, out: Path) -> Told:
    """Mark the answers of a method, extract the suspects, calibrate on the pairs, and judge."""
    config = preset("default", method, dataset.name).config
    pairs = _marked(dataset, opened, explanations, config)
    issued = explanations._replace(cf=pairs.issued)
    write_table(answers(dataset, issued, 0), out / "marked.csv")
    write_table(pairs_table(dataset, pairs, 0), out / "pairs.csv")
    service = Service(dataset, opened.classifier, method, pairs.issued.shape[1], config, 0, issued)
    case = Case(dataset, opened.classifier, pairs, pairs, config)
    calibration = calibrated(case, POOL, SHADOWS, "demo")
    accused, requests = zip(
        *(_accused(role, dataset, opened, service, pairs, calibration) for role in ROLES), strict=True
    )
    marks = {
        "method": method,
        "counterfactuals": int(pairs.found.sum()),
        "pairs": int(pairs.paired.sum()),
        "before": quality(explanations, dataset.encoder, opened.classifier)._asdict(),
        "after": quality(issued, dataset.encoder, opened.classifier)._asdict(),
    }
    return Told(marks, list(accused), list(requests), calibration, _example(dataset, pairs))


def summary_of(told: Told) -> dict[str, Any]:
    """Return what was found as plain JSON values."""
    suspects = [
        {
            "name": accused.name,
            "guilty": accused.guilty,
            "what": accused.what,
            "requests": requests,
            "agreement": accused.agreement,
            "verdicts": [json.loads(verdict.to_json()) for verdict in accused.verdicts],
        }
        for accused, requests in zip(told.accused, told.requests, strict=True)
    ]
    power = told.calibration.power[str(told.accused[0].verdicts[1].details["score"])]
    return {"marks": told.marks, "suspects": suspects, "power": power, "example": told.example._asdict()}


def _marked(
    dataset: Dataset, opened: OpenModel, explanations: Explanations, config: BilevelConfig
) -> MarkedExplanations:
    """Mark as ``cfmark watermark`` does with seed 0."""
    key = jax.random.fold_in(jax.random.key(derive_seed("watermark", 0)), 0)
    return embed(key, explanations, opened.classifier, dataset, config)[0]


def _accused(
    role: Role,
    dataset: Dataset,
    opened: OpenModel,
    service: Service,
    pairs: MarkedExplanations,
    calibration: Calibration,
) -> tuple[Accused, int]:
    """Let a suspect gather and learn, as ``cfmark attack`` does, and judge it."""
    learnt = attacked(role.attack, service.oracle(), pairs.x, role.labels)
    copy = extract(jax.random.key(derive_seed("attack", role.attack, role.labels, "mlp", 0)), learnt)
    scores = score(copy, pairs)
    verdicts = tuple(
        decide(scores, test, alpha=ALPHA, calibration=calibration, pool=POOL) for test in ("t", "calibrated")
    )
    same = agreement(copy, opened.classifier, dataset.holdout.x)
    what = role.what.format(n=len(pairs.x))
    nulls = nulls_of(calibration, verdicts[1])
    return Accused(role.name, what, role.guilty, same, scores, verdicts, nulls), learnt.requests


def _example(dataset: Dataset, pairs: MarkedExplanations) -> Example:
    """Show the paired counterfactual with the fewest changes before and after marking, the largest first."""
    encoder = dataset.encoder
    counts = changed(encoder, pairs.x, pairs.counterpart[:, 0]).to_numpy()
    row = int(np.argmin(np.where(pairs.paired[:, 0], counts, np.inf)))
    points = np.stack([pairs.x[row], pairs.counterpart[row, 0], pairs.issued[row, 0]])
    served, columns = encoder.decode(points), dict(zip(encoder.columns, points.T, strict=True))
    lines = []
    for feature in sorted(encoder.scalars, key=lambda f: -abs(columns[f.name][1] - columns[f.name][0])):
        query, cf, issued = served[feature.name].tolist()
        if not query == cf == issued:
            texts = shown(feature, query), shown(feature, cf), shown(feature, issued)
            lines.append((feature.name, feature.unit, *texts))
    labels = dataset.schema.labels
    target = int(pairs.target[row])
    head = f"Query {row + 1} is classified {labels[1 - target]}. It would be {labels[target]} with:"
    return Example(head, tuple(lines))
