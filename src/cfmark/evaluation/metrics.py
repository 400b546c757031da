"""How good counterfactuals are: validity, proximity, sparsity, and violations of the schema.

Violations are counted on the decoded tables, without the projection that is meant to prevent them.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cfmark.data import Encoder, Feature, Schema
from cfmark.explainers import changed
from cfmark.types import Classifier, Explanations, IntArray, predict


class Quality(NamedTuple):
    """Of a set of counterfactuals.

    Attributes
    ----------
    queries
        How many were explained.
    found
        The share of asked-for counterfactuals that was found.
    validity
        The share that is of the target class once decoded to served values and encoded again; what was
        not found is not valid.
    l1
        Mean L1 distance to the query in encoded space, over those found (NaN if none was).
    changed
        Mean number of features with another served value, over those found.
    violations
        How many served values break the schema: bounds, grid, categories, immutables, directions.
    """

    queries: int
    found: float
    validity: float
    l1: float
    changed: float
    violations: int


def quality(explanations: Explanations, encoder: Encoder, classifier: Classifier) -> Quality:
    """Measure counterfactuals against the model and the schema."""
    x, cf, found, target = explanations
    times = cf.shape[1]
    flat = found.reshape(-1)
    rows = np.repeat(x, times, axis=0)[flat]
    answers = cf.reshape(-1, cf.shape[2])[flat]
    if not len(rows):
        return Quality(len(x), 0.0, 0.0, float("nan"), float("nan"), 0)
    served = encoder.decode(answers)
    valid = predict(classifier, encoder.encode(served)) == np.repeat(target, times)[flat]
    return Quality(
        queries=len(x),
        found=float(found.mean()),
        validity=float(valid.sum() / found.size),
        l1=float(np.abs(answers - rows).sum(axis=1).mean()),
        changed=float(changed(encoder, rows, answers).mean()),
        violations=int(violations(encoder.schema, encoder.decode(rows), served).sum()),
    )


def violations(schema: Schema, before: pd.DataFrame, after: pd.DataFrame) -> IntArray:
    """Count for every row (n,) the values of ``after`` that may not be served for ``before``."""
    counts = np.zeros(len(after), np.int64)
    for feature in schema.features:
        counts += _broken(feature, before[feature.name], after[feature.name]).to_numpy(np.int64)
    return counts


def _broken(feature: Feature, before: "pd.Series[Any]", after: "pd.Series[Any]") -> "pd.Series[bool]":
    moved = before != after
    if feature.immutable:
        return moved
    if not feature.is_number:
        order = {category: i for i, category in enumerate(feature.categories)}
        known = after.isin(feature.categories)
        return ~known | _wrong_way(feature, before.map(order), after.map(order))
    coded = before.isin(feature.special)
    kept_code = coded & ~moved
    steps = (after - feature.low) / feature.precision
    on_grid = (steps - steps.round()).abs() < 1e-4
    regular = after.between(feature.low, feature.high) & on_grid
    wrong_way = _wrong_way(feature, before, after) & ~coded
    return (~regular & ~kept_code) | wrong_way | (coded & moved & feature.special_fixed)


def _wrong_way(feature: Feature, before: "pd.Series[Any]", after: "pd.Series[Any]") -> "pd.Series[bool]":
    if feature.direction == "up":
        return after < before
    if feature.direction == "down":
        return after > before
    return pd.Series(False, index=after.index)
