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

    @property
    def requests(self) -> int:
        """How many rows were sent in all."""
        return self.predicted + self.explained

    def predict(self, x: FloatArray) -> FloatArray:
        """Return (n, 2) probabilities."""
        self._check(len(x), "probabilities")
        self.predicted += len(x)
        return self.classifier.predict_proba(x)

    def explain(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return issued counterfactuals (n, m, d) and found (n, m)."""
        self._check(len(x), "counterfactuals")
        self.explained += len(x)
        cf, found = self.issue(x)
        return np.asarray(cf, np.float32), np.asarray(found, bool)

    def _check(self, rows: int, what: str) -> None:
        """Refuse a call that goes over the budget; it is not counted, and nothing of it is answered."""
        if self.budget is not None and self.requests + rows > self.budget:
            raise BudgetExceeded(
                f"{what} for {rows:,} rows were asked, but {self.budget - self.requests:,} of the budget of "
                f"{self.budget:,} rows are left: {self.predicted:,} were sent for probabilities and "
                f"{self.explained:,} for counterfactuals"
            )
