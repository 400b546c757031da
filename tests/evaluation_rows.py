"""Rows made by hand, as units of an experiment would give them."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from cfmark.evaluation.rows import SCHEMA

Row = dict[str, Any]
AXES: Row = {
    "experiment": "made",
    "dataset": "cancer",
    "explainer": "dice",
    "scheme": "bilevel",
    "variant": "",
    "draw": 0,
    "cell": "cancer/dice/bilevel",
}
VERDICT: Row = AXES | {
    "record": "verdict",
    "suspect": "mrce",
    "guilty": True,
    "labels": "soft",
    "family": "mlp",
    "seed": 0,
    "removal": "",
    "strength": 0.0,
    "test": "calibrated",
    "pool": "queries",
    "score": "ratio",
    "margin": "",
    "alpha": 0.05,
    "statistic": 1.0,
    "p_value": 0.01,
    "effect": 0.1,
    "tau": 0.05,
    "n": 100,
    "flagged": True,
    "agreement": 0.9,
    "poison": 0.5,
}
QUALITY: Row = AXES | {
    "record": "quality",
    "queries": 128,
    "query_rows": 143,
    "rows": 569,
    "n_cfs": 1,
    "found": 1.0,
    "paired": 0.75,
    "validity_before": 1.0,
    "validity_after": 0.98,
    "l1_before": 2.0,
    "l1_after": 2.1,
    "validity_other": 0.5,
    "l1_other": 4.0,
    "changed_before": 5.0,
    "changed_after": 6.0,
    "violations": 0,
    "share": 0.8,
}


def suspects(flagged: int, of: int, **fields: Any) -> list[Row]:
    """Return the verdicts of so many suspects of a kind, the first of which are flagged."""
    guilty = fields.get("suspect", "mrce") in ("mrce", "dual_cf")
    return [
        VERDICT | {"guilty": guilty} | fields | {"seed": seed, "flagged": seed < flagged}
        for seed in range(of)
    ]


def frame(rows: Iterable[Row]) -> pd.DataFrame:
    """Return rows as they are read from disk: every column is there."""
    import pyarrow as pa

    made: pd.DataFrame = pa.Table.from_pylist(list(rows), SCHEMA).to_pandas()
    return made
