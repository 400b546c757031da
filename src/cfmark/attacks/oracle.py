"""The service in this process: an Oracle with a budget, and a record of what was asked."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cfmark.errors import BudgetExceeded
from cfmark.types import BoolArray, Classifier, FloatArray

#: From queries (n, d) to issued counterfactuals (n, m, d) and found (n, m).
Issue = Callable[[FloatArray], tuple[FloatArray, BoolArray]]


@dataclass
class LocalOracle:
    """Answer with the model's probabilities and with whatever ``issue`` hands out.

    Attributes
    ----------
    classifier
        The owner's model.
    issue
        The path from query to issued counterfactual, marks included.
    budget
        How many rows may be sent in all; ``None`` for no limit.
    predicted, explained
        How many rows were sent for probabilities and for counterfactuals.
    """

    classifier: Classifier
    issue: Issue
    budget: int | None = None
    predicted: int = field(default=0, init=False)
    explained: int = field(default=0, init=False)

    def predict(self, x: FloatArray) -> FloatArray:
        """Return (n, 2) probabilities."""
        self._spend(len(x))
        self.predicted += len(x)
        return self.classifier.predict_proba(x)

    def explain(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return issued counterfactuals (n, m, d) and found (n, m)."""
        self._spend(len(x))
        self.explained += len(x)
        cf, found = self.issue(x)
        return np.asarray(cf, np.float32), np.asarray(found, bool)

    def _spend(self, rows: int) -> None:
        used = self.predicted + self.explained
        if self.budget is not None and used + rows > self.budget:
            raise BudgetExceeded(f"{rows} more rows asked, {self.budget - used} of {self.budget} are left")
