"""The owner's side of a unit: data, model and method, and a desk that explains, marks and hands out."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from cfmark.attacks import LocalOracle, Sources
from cfmark.data import Dataset, is_table, load, load_table
from cfmark.errors import ConfigError
from cfmark.evaluation.settings import Unit
from cfmark.explainers import explain, fit_explainer
from cfmark.models import forget_programs, own_classifier
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


@lru_cache(maxsize=1)
def world_of(dataset: str, explainer: str, n_cfs: int, schema: str = "") -> World:
    """Load the data, train the owner's network or take it from the cache, and fit the method.

    The compiled programs of the world before go, or a worker would hold those of every cell.
    """
    forget_programs()
    own = is_table(dataset)
    loaded = load_table(dataset, schema) if own else load(dataset, schema or "paper")
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
    """Draw the attacker's rows of the query split, no two alike; methods and variants share the draw."""
    _, rows = np.unique(dataset.query.x, axis=0, return_index=True)
    random = np.random.default_rng(derive_seed("queries", unit.dataset, unit.draw))
    drawn: IntArray = random.choice(np.sort(rows), min(unit.settings.queries, len(rows)), replace=False)
    return drawn


@dataclass
class Desk:
    """Explain and mark queries in batches; the same query gets the same answer, whatever batch it comes in.

    Attributes
    ----------
    world, config
        The owner's things, and the scheme.
    key_explain, key_mark
        What answers and marks are drawn with.
    infos
        How the marks of each batch were made.
    """

    world: World
    config: EmbedConfig
    key_explain: jax.Array
    key_mark: jax.Array
    infos: list[EmbedInfo] = field(default_factory=list)
    _answers: dict[bytes, tuple[Any, ...]] = field(default_factory=dict)
    _issued: dict[bytes, tuple[Any, ...]] = field(default_factory=dict)

    def explained(self, x: FloatArray) -> Explanations:
        """Return the unmarked answers to the queries (n, d)."""
        explainer = self.world.explainer
        return Explanations(
            *_remembered(self._answers, x, lambda new: explain(self.key_explain, explainer, new))
        )

    def marked(self, x: FloatArray) -> MarkedExplanations:
        """Return what is issued for the queries (n, d)."""
        return MarkedExplanations(*_remembered(self._issued, x, self._mark))

    def _mark(self, x: FloatArray) -> MarkedExplanations:
        dataset, classifier, _ = self.world
        pairs, info = embed(self.key_mark, self.explained(x), classifier, dataset, self.config)
        self.infos.append(info)
        return pairs

    def oracle(self, *, marked: bool = True) -> LocalOracle:
        """Return what an attacker may call; without marks, what a service without a watermark answers."""
        return LocalOracle(self.world.classifier, self._issue if marked else self._plain)

    def _issue(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        pairs = self.marked(x)
        return pairs.issued, pairs.found

    def _plain(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        answers = self.explained(x)
        return answers.cf, answers.found


def _remembered(
    memory: dict[bytes, tuple[Any, ...]], x: FloatArray, make: Callable[[FloatArray], tuple[Any, ...]]
) -> list[Any]:
    """Return the columns that ``make`` gives to the rows (n, d), each row made once."""
    names = [row.tobytes() for row in np.ascontiguousarray(x, np.float32)]
    new = {name: place for place, name in reversed(list(enumerate(names))) if name not in memory}
    if new:
        places = sorted(new.values())
        made = make(x[places])
        memory |= {names[place]: tuple(column[i] for column in made) for i, place in enumerate(places)}
    return [np.stack(column) for column in zip(*(memory[name] for name in names), strict=True)]


def open_desk(unit: Unit, world: World, config: EmbedConfig, *, owner: str = "ours") -> Desk:
    """Return the desk of the unit; another owner's marks are made with another key, from a uniform start."""
    key_explain = jax.random.key(unit.seed("explain"))
    if owner != "ours" and isinstance(config, BilevelConfig):
        config = replace(config, start="uniform")
    return Desk(world, config, key_explain, jax.random.key(unit.seed("mark", owner)))


def sources_of(ours: Desk, foreign: Desk) -> Sources:
    """Return what innocents learn from."""
    return Sources(ours.oracle(), ours.oracle(marked=False), foreign.oracle())
