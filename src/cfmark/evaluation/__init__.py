"""Measures of counterfactuals, and experiments: units of work, a runner, tables and figures from rows."""

from cfmark.evaluation.grid import Experiment as Experiment
from cfmark.evaluation.grid import read_experiment as read_experiment
from cfmark.evaluation.machine import provenance as provenance
from cfmark.evaluation.metrics import Quality as Quality
from cfmark.evaluation.metrics import quality as quality
from cfmark.evaluation.metrics import violations as violations
from cfmark.evaluation.runner import Outcome as Outcome
from cfmark.evaluation.runner import Plan as Plan
from cfmark.evaluation.runner import plan as plan
from cfmark.evaluation.runner import run_experiment as run_experiment

__all__ = [
    "Experiment",
    "Outcome",
    "Plan",
    "Quality",
    "plan",
    "provenance",
    "quality",
    "read_experiment",
    "run_experiment",
    "violations",
]
