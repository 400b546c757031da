"""Rows of results about the marks themselves: quality before and after, and loss curves."""

from typing import Any

import jax
import numpy as np

from cfmark.evaluation.desk import World
from cfmark.evaluation.metrics import Quality, quality
from cfmark.evaluation.settings import Unit
from cfmark.explainers import explain
from cfmark.types import Explanations, FloatArray, MarkedExplanations
from cfmark.watermark import EmbedInfo

Row = dict[str, Any]
#: So many rows outside the query split tell how good unmarked answers are there.
OTHERS = 500


def quality_row(unit: Unit, world: World, pairs: MarkedExplanations, info: EmbedInfo) -> Row:
    """Return validity and proximity before and after marking, on the rows that were marked."""
    dataset, found = world.dataset, pairs.found
    before = _quality(world, pairs, pairs.counterpart)
    after = _quality(world, pairs, pairs.issued)
    row: Row = {
        "record": "quality",
        "queries": len(pairs.x),
        "query_rows": len(dataset.query.x),
        "rows": sum(len(split.x) for split in (dataset.train, dataset.query, dataset.holdout)),
        "n_cfs": found.shape[1],
        "found": float(found.mean()),
        "paired": float(pairs.paired.mean()),
        "violations": after.violations,
        "share": float(info.share[found].mean()) if found.any() else float("nan"),
    }
    for when, measured in (("before", before), ("after", after)):
        row |= {f"{name}_{when}": getattr(measured, name) for name in ("validity", "l1", "changed")}
    if unit.draw == 0:
        other = _elsewhere(unit, world)
        row |= {"validity_other": other.validity, "l1_other": other.l1}
    return row


def curves(info: EmbedInfo) -> list[Row]:
    """Return the three losses of every batch at every outer step."""
    rows = []
    for batch, losses in enumerate(info.curves):
        named = {name: np.asarray(values).tolist() for name, values in losses._asdict().items()}
        for step, values in enumerate(zip(*named.values(), strict=True)):
            rows.append(
                {"record": "curve", "batch": batch, "step": step, **dict(zip(named, values, strict=True))}
            )
    return rows


def _quality(world: World, pairs: MarkedExplanations, cf: FloatArray) -> Quality:
    shown = Explanations(pairs.x, cf, pairs.found, pairs.target)
    return quality(shown, world.dataset.encoder, world.classifier)


def _elsewhere(unit: Unit, world: World) -> Quality:
    """Return the quality of unmarked answers outside the query split: the paper's averages include them."""
    rows = np.concatenate([world.dataset.train.x, world.dataset.holdout.x])
    random = np.random.default_rng(unit.seed("others"))
    chosen = rows[random.choice(len(rows), min(OTHERS, len(rows)), replace=False)]
    answers = explain(jax.random.key(unit.seed("explain", "others")), world.explainer, chosen)
    return quality(answers, world.dataset.encoder, world.classifier)
