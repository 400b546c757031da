"""Hyper-parameters by name: the paper's appendix, and our own."""

from typing import NamedTuple

from cfmark.errors import ConfigError
from cfmark.watermark.bilevel import BilevelConfig


class Preset(NamedTuple):
    """How one cell is marked and tested.

    Attributes
    ----------
    config
        The knobs of Algorithm 1.
    tau
        The margin of the t-test, in probability.
    n_cfs
        Counterfactuals for each query.
    """

    config: BilevelConfig
    tau: float
    n_cfs: int


class Row(NamedTuple):
    """A row of the paper's appendix, table "Hyperparameters for each dataset", and what it leaves open."""

    batch_size: int
    unroll: int
    learning_rate: float
    tau: float
    ensemble: int
    regularisation: float = 1.0
    n_cfs: int = 1


#: (explainer, data set) -> row. The last two columns are not in the paper.
PAPER = {
    ("cchvae", "cancer"): Row(64, 5, 0.03, 0.05, 32, regularisation=1.5),
    ("cchvae", "credit"): Row(16, 10, 0.01, 0.05, 8),
    ("cchvae", "heloc"): Row(128, 5, 0.1, 0.05, 32, regularisation=1.5),
    ("cchvae", "loan"): Row(64, 10, 0.01, 0.05, 8),
    ("dice", "cancer"): Row(64, 10, 0.005, 0.1, 16, regularisation=0.5),
    ("dice", "credit"): Row(64, 10, 0.01, 0.05, 8, n_cfs=5),
    ("dice", "heloc"): Row(64, 5, 0.1, 0.05, 8, n_cfs=5),
    ("dice", "loan"): Row(128, 10, 0.03, 0.05, 8),
    ("growing_sphere", "cancer"): Row(128, 10, 0.02, 0.05, 32, regularisation=1.5),
    ("growing_sphere", "credit"): Row(64, 10, 0.01, 0.05, 8),
    ("growing_sphere", "heloc"): Row(128, 5, 0.1, 0.05, 16, regularisation=1.5),
    ("growing_sphere", "loan"): Row(128, 5, 0.05, 0.05, 16),
}
#: Where the paper has no margin.
TAU = 0.05


def preset(name: str, explainer: str, dataset: str) -> Preset:
    """Return the hyper-parameters of a cell.

    Parameters
    ----------
    name
        ``paper``: T = 50, delta = .05, a step of 2.5 delta / T, and the appendix's table. The paper does not
        state lambda 1 to 3 nor how many counterfactuals a query gets: they are what the authors ran
        (2, 1 and the row's; 5 for DiCE on Credit and HELOC). ``default``: ours, for any data set.
    explainer, dataset
        The cell.
    """
    row = PAPER.get((explainer, dataset))
    if name == "default":
        return Preset(BilevelConfig(delta=0.05, proximity=0.015), row.tau if row else TAU, 1)
    if name != "paper":
        raise ConfigError(f"there is no preset {name!r}; the presets are default and paper")
    if row is None:
        known = ", ".join(f"{method} on {data}" for method, data in PAPER)
        raise ConfigError(f"the paper has no hyper-parameters for {explainer} on {dataset}; it has {known}")
    config = BilevelConfig(
        steps=50,
        delta=0.05,
        poison=2.0,
        validity=1.0,
        regularisation=row.regularisation,
        batch_size=row.batch_size,
        unroll=row.unroll,
        learning_rate=row.learning_rate,
        ensemble=row.ensemble,
    )
    return Preset(config, row.tau, row.n_cfs)
