"""A unit of work: one row draw of one data set, method, scheme and variant; and what is done in it."""

from dataclasses import dataclass
from typing import Any, get_args

from cfmark.attacks import ATTACKS, FAMILIES, KINDS, Labels
from cfmark.errors import ConfigError
from cfmark.seeds import derive_seed

#: Innocents that are no attack; ``query`` is both an attack of the paper's and its only negative.
INNOCENTS = tuple(kind for kind in KINDS if kind != "queries")
POOLS = ("queries", "all")
REMOVALS = ("finetune", "prune", "noise", "round", "average")


@dataclass(frozen=True)
class Settings:
    """What is done in every unit of an experiment.

    Attributes
    ----------
    preset
        Hyper-parameters of the marks and of the t-test: ``default``, or the paper's appendix (``paper``).
    queries
        An attacker's budget: distinct query rows without replacement.
    n_cfs
        Counterfactuals for each query; 0 for what the preset says.
    seeds
        Suspects of each kind on one row draw; they differ in their training alone.
    attacks, labels, families
        The paper's attacks; what they learn from the service; the models they train.
    innocents, innocent_families
        Other suspects that must not be flagged, and the models they are.
    pools
        Against which innocents the calibrated test is held: ``queries``, ``all``.
    strict_draws
        The row draws on which ``pool = all`` is calibrated.
    fit, rank, alpha
        Shadows of each kind that the ratio is learnt from and that make up the null, and the tests' level.
    removal, strengths
        What thieves do to lose the mark, and how strongly: epochs of fine-tuning on the queries alone, the
        share of weights pruned, the size of the noise, the step rounded to, how many are averaged. Strength 0
        leaves them as they are.
    curves
        Whether the loss curves are recorded.
    schema
        The schema file of a data set that is a table of one's own; for built-in ones ``paper`` (also where
        nothing is said) or ``actionable``.
    """

    preset: str = "default"
    queries: int = 128
    n_cfs: int = 0
    seeds: int = 10
    attacks: tuple[str, ...] = ("query", "mrce", "dual_cf")
    labels: tuple[str, ...] = ("soft",)
    families: tuple[str, ...] = ("mlp",)
    innocents: tuple[str, ...] = ()
    innocent_families: tuple[str, ...] = ("mlp",)
    pools: tuple[str, ...] = ("queries",)
    strict_draws: int = 1
    fit: int = 100
    rank: int = 199
    alpha: float = 0.05
    removal: str = ""
    strengths: tuple[float, ...] = ()
    curves: bool = False
    schema: str = ""

    def __post_init__(self) -> None:
        _known("preset", (self.preset,), ("default", "paper"))
        _known("attacks", self.attacks, tuple(ATTACKS))
        _known("labels", self.labels, get_args(Labels))
        _known("families", (*self.families, *self.innocent_families), FAMILIES)
        _known("innocents", self.innocents, INNOCENTS)
        _known("pools", self.pools, POOLS)
        _known("removal", (self.removal,), ("", *REMOVALS))
        if min(self.queries, self.seeds) < 1 or self.n_cfs < 0 or self.strict_draws < 0:
            raise ConfigError("queries and seeds must be at least 1, n_cfs and strict_draws not negative")
        if bool(self.removal) != bool(self.strengths):
            raise ConfigError("removal and strengths belong together: give both, or none")


@dataclass(frozen=True)
class Unit:
    """One row draw of one cell: the pairs, shadows and weights belong to it, and all its suspects share them.

    Attributes
    ----------
    experiment, dataset, explainer, scheme
        The axes.
    variant
        Fields of the scheme's config that differ from the preset's, by name.
    draw
        The number of the row draw.
    settings
        What is done.
    """

    experiment: str
    dataset: str
    explainer: str
    scheme: str
    variant: tuple[tuple[str, Any], ...]
    draw: int
    settings: Settings

    @property
    def cell(self) -> str:
        """The id of the cell, the same on every machine: its axes and what varies."""
        varied = [f"{name}={value}" for name, value in self.variant]
        return "/".join([self.dataset, self.explainer, self.scheme, *varied])

    @property
    def id(self) -> str:
        """The id of the unit."""
        return f"{self.cell}/draw{self.draw}"

    def seed(self, *axes: str | int) -> int:
        """Return the seed of what these axes name; variants share it, so that they differ in nothing else."""
        return derive_seed("unit", self.dataset, self.explainer, self.draw, *axes)


def _known(name: str, values: tuple[str, ...], known: tuple[str, ...]) -> None:
    for value in values:
        if value not in known:
            raise ConfigError(f"{name}: {value!r} is not one of {', '.join(map(repr, known))}")
