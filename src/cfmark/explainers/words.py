"""Say a counterfactual in words and in the table's own units."""

from typing import Any

import numpy as np
import pandas as pd

from cfmark.data import Encoder, Feature
from cfmark.types import FloatArray


def changes(encoder: Encoder, x: FloatArray, cf: FloatArray) -> list[str]:
    """Return one line a changed feature for a query and its counterfactual, both (d,).

    >>> from cfmark.data import load
    >>> cancer = load("cancer")
    >>> x = cancer.query.x[0]
    >>> changes(cancer.encoder, x, x)
    []
    """
    served = encoder.decode(np.stack([x, cf]))
    pairs = [(f, *served[f.name].tolist()) for f in encoder.schema.features]
    return [_line(feature, before, after) for feature, before, after in pairs if before != after]


def changed(encoder: Encoder, x: FloatArray, cf: FloatArray) -> "pd.Series[int]":
    """Count the features whose served value differs, for n queries and counterfactuals (n, d)."""
    return (encoder.decode(x) != encoder.decode(cf)).sum(axis=1)


def shown(feature: Feature, value: Any) -> str:
    """Write a value as it is served: 120.40, 12, university."""
    return f"{value:.{feature.decimals}f}" if feature.is_number else str(value)


def _line(feature: Feature, before: Any, after: Any) -> str:
    unit = f" {feature.unit}" if feature.unit else ""
    return f"{feature.name}: {shown(feature, before)} -> {shown(feature, after)}{unit}"
