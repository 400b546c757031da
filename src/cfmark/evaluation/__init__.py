"""Measures of counterfactuals, and experiments: units of work, a runner, tables and figures from rows."""

from cfmark.evaluation.figures import draw as draw
from cfmark.evaluation.grid import Experiment as Experiment
from cfmark.evaluation.grid import read_experiment as read_experiment
from cfmark.evaluation.machine import peak_megabytes as peak_megabytes
from cfmark.evaluation.machine import provenance as provenance
from cfmark.evaluation.metrics import Quality as Quality
from cfmark.evaluation.metrics import quality as quality
from cfmark.evaluation.metrics import violations as violations
from cfmark.evaluation.mnist import case_study as case_study
from cfmark.evaluation.mnist import picture as picture
from cfmark.evaluation.protocol import run_unit as run_unit
from cfmark.evaluation.report import Accused as Accused
from cfmark.evaluation.report import Example as Example
from cfmark.evaluation.report import Report as Report
from cfmark.evaluation.report import p_words as p_words
from cfmark.evaluation.report import report_page as report_page
from cfmark.evaluation.runner import Outcome as Outcome
from cfmark.evaluation.runner import Plan as Plan
from cfmark.evaluation.runner import missing as missing
from cfmark.evaluation.runner import plan as plan
from cfmark.evaluation.runner import read_document as read_document
from cfmark.evaluation.runner import rows_of as rows_of
from cfmark.evaluation.runner import run_experiment as run_experiment
from cfmark.evaluation.tables import records_of as records_of
from cfmark.evaluation.tables import tables_of as tables_of
from cfmark.evaluation.tables_base import Table as Table
from cfmark.evaluation.tables_base import markdown as markdown
from cfmark.evaluation.tables_base import shown as shown

__all__ = [
    "Accused",
    "Example",
    "Experiment",
    "Outcome",
    "Plan",
    "Quality",
    "Report",
    "Table",
    "case_study",
    "draw",
    "markdown",
    "missing",
    "p_words",
    "peak_megabytes",
    "picture",
    "plan",
    "provenance",
    "quality",
    "read_document",
    "read_experiment",
    "records_of",
    "report_page",
    "rows_of",
    "run_experiment",
    "run_unit",
    "shown",
    "tables_of",
    "violations",
]
