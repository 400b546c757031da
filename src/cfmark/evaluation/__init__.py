"""Measures of counterfactuals."""

from cfmark.evaluation.metrics import Quality as Quality
from cfmark.evaluation.metrics import quality as quality
from cfmark.evaluation.metrics import violations as violations

__all__ = ["Quality", "quality", "violations"]
