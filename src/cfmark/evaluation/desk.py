"""The owner's side of a unit: data, model and method, and a desk that explains, marks and hands out."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np

from cfmark.attacks import LocalOracle, Sources
from cfmark.data import Dataset, load
from cfmark.errors import ConfigError
from cfmark.evaluation.settings import Unit
from cfmark.explainers import explain, fit_explainer
from cfmark.models import own_classifier
from cfmark.seeds import derive_seed
from cfmark.types import (
    BoolArray,
    Classifier,
    Explainer,
    Explanations,
    FloatArray,
    IntArray,
    MarkedExplanations,
)
from cfmark.watermark import BilevelConfig, EmbedConfig, EmbedInfo, Preset, RandomConfig, embed, preset

SCHEMES = ("bilevel", "random")


class World(NamedTuple):
    """What the owner has before the first query: it is the same in every unit of a data set and method."""

    dataset: Dataset
    classifier: Classifier
    explainer: Explainer


@lru_cache(maxsize=2)
def world_of(dataset: str, explainer: str, n_cfs: int) -> World:
    """Load the data, train the owner's network or take it from the cache, and fit the method."""
    loaded = load(dataset, "paper")
    classifier = own_classifier(loaded).classifier
    key = jax.random.key(derive_seed("explainer", dataset, explainer))
    return World(loaded, classifier, fit_explainer(key, explainer, loaded, classifier, n_cfs=n_cfs))


def preset_of(unit: Unit) -> Preset:
    """Return the preset of a unit, its variant's fields put in."""
    chosen = preset(unit.settings.preset, unit.explainer, unit.dataset)
    try:
        config = replace(chosen.config, **dict(unit.variant))
    except TypeError as problem:
        raise ConfigError(f"{unit.cell}: {problem}") from problem
    return chosen._replace(config=config, n_cfs=unit.settings.n_cfs or chosen.n_cfs)


def scheme_of(unit: Unit, chosen: Preset) -> EmbedConfig:
    """Return the config of the unit's scheme."""
    if unit.scheme not in SCHEMES:
        raise ConfigError(f"there is no scheme {unit.scheme!r}; the schemes are {', '.join(SCHEMES)}")
    return chosen.config if unit.scheme == "bilevel" else RandomConfig(chosen.config.delta)


def queries_of(unit: Unit, dataset: Dataset) -> IntArray:
    """Draw the attacker's distinct rows of the query split; methods and variants share the draw."""
    random = np.random.default_rng(derive_seed("queries", unit.dataset, unit.draw))
    rows: IntArray = random.choice(
        len(dataset.query.x), min(unit.settings.queries, len(dataset.query.x)), replace=False
    )
    return rows


@dataclass
class Desk:
    """Explain and mark batches of queries; the same batch gets the same answers.

    Attributes
    ----------
    world, config
        The owner's things, and the scheme.
    key_explain, key_mark
        What answers and marks are drawn with.
    """

    world: World
    config: EmbedConfig
    key_explain: jax.Array
    key_mark: jax.Array
    _answers: dict[bytes, Explanations] = field(default_factory=dict)
    _issued: dict[bytes, tuple[MarkedExplanations, EmbedInfo]] = field(default_factory=dict)

    def explained(self, x: FloatArray) -> Explanations:
        """Return the unmarked answers to the queries (n, d)."""
        batch = _name_of(x)
        if batch not in self._answers:
            self._answers[batch] = explain(self.key_explain, self.world.explainer, x)
        return self._answers[batch]

    def marked(self, x: FloatArray) -> tuple[MarkedExplanations, EmbedInfo]:
        """Return what is issued for the queries (n, d), and how the marks were made."""
        batch = _name_of(x)
        if batch not in self._issued:
            dataset, classifier, _ = self.world
            answers = self.explained(x)
            self._issued[batch] = embed(self.key_mark, answers, classifier, dataset, self.config)
        return self._issued[batch]

    def oracle(self, *, marked: bool = True) -> LocalOracle:
        """Return what an attacker may call; without marks, what a service without a watermark answers."""
        return LocalOracle(self.world.classifier, self._issue if marked else self._plain)

    def _issue(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        pairs, _ = self.marked(x)
        return pairs.issued, pairs.found

    def _plain(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        answers = self.explained(x)
        return answers.cf, answers.found


def _name_of(x: FloatArray) -> bytes:
    return np.ascontiguousarray(x, np.float32).tobytes()


def open_desk(unit: Unit, world: World, config: EmbedConfig, *, owner: str = "ours") -> Desk:
    """Return the desk of the unit; another owner's marks are made with another key, from a uniform start."""
    key_explain = jax.random.key(unit.seed("explain"))
    if owner != "ours" and isinstance(config, BilevelConfig):
        config = replace(config, start="uniform")
    return Desk(world, config, key_explain, jax.random.key(unit.seed("mark", owner)))


def sources_of(ours: Desk, foreign: Desk) -> Sources:
    """Return what innocents learn from."""
    return Sources(ours.oracle(), ours.oracle(marked=False), foreign.oracle())
