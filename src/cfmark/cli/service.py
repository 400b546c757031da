"""The owner's service in this process, as ``explain`` and ``watermark`` make it: what ``attack`` may call."""

from dataclasses import dataclass, field

import jax
import numpy as np

from cfmark.attacks import LocalOracle
from cfmark.data import Dataset
from cfmark.explainers import explain, fit_explainer
from cfmark.seeds import derive_seed
from cfmark.types import BoolArray, Classifier, Explainer, Explanations, FloatArray
from cfmark.watermark import BilevelConfig, embed


@dataclass
class Service:
    """Explain and mark whatever is asked; a query that was answered before gets the same answer again.

    The answers to the first batch of queries are those that the commands give, with the same seed, to a file
    of these rows (of up to a piece's length).

    Attributes
    ----------
    dataset, classifier, method, n_cfs, config, seed
        The owner's data and model, the counterfactual method, answers a query, the scheme, the seed.
    given
        Answers that were issued already.
    """

    dataset: Dataset
    classifier: Classifier
    method: str
    n_cfs: int
    config: BilevelConfig
    seed: int
    given: Explanations | None = None
    _place: dict[bytes, int] = field(default_factory=dict, init=False)
    _explainer: Explainer | None = field(default=None, init=False)
    _batches: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.given is not None:
            self._place = {row.tobytes(): i for i, row in reversed(list(enumerate(self.given.x)))}

    def oracle(self) -> LocalOracle:
        """Return what an attacker may call."""
        return LocalOracle(self.classifier, self.issue)

    def issue(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return what is issued for the queries (n, d)."""
        rows = np.array([self._place.get(row.tobytes(), -1) for row in x], np.int64)
        cf, found = (
            np.zeros((len(x), self.n_cfs, x.shape[1]), np.float32),
            np.zeros((len(x), self.n_cfs), bool),
        )
        known = rows >= 0
        if self.given is not None and known.any():
            cf[known], found[known] = self.given.cf[rows[known]], self.given.found[rows[known]]
        if not known.all():
            cf[~known], found[~known] = self._answered(x[~known])
        return cf, found

    def _answered(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        fit, run = jax.random.split(jax.random.key(derive_seed("explain", self.method, self.seed)))
        mark = jax.random.fold_in(jax.random.key(derive_seed("watermark", self.seed)), self._batches)
        self._batches += len(x)
        if self._explainer is None:
            self._explainer = fit_explainer(fit, self.method, self.dataset, self.classifier, n_cfs=self.n_cfs)
        answers = explain(run, self._explainer, x, first_row=self._batches - len(x))
        marked, _ = embed(mark, answers, self.classifier, self.dataset, self.config)
        return marked.issued, marked.found
