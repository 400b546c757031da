"""An experiment file: axes, variants and settings in TOML, and the units of work that they span.

A file names the data sets, the counterfactual methods and the schemes; each combination is a cell, and each
cell has ``repeats`` suspects of each kind: row draws times seeds. ``[variants]`` multiplies the cells by
fields of the scheme's config: a table of lists is a grid, a list of tables names every point.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from cfmark.data import BUILT_IN, is_table
from cfmark.errors import ConfigError
from cfmark.evaluation.settings import Settings, Unit
from cfmark.explainers import METHODS
from cfmark.watermark import BilevelConfig, RandomConfig

SCHEMES = {"bilevel": BilevelConfig, "random": RandomConfig}
AXES = {"dataset": (*BUILT_IN, "mnist01", "synthetic"), "explainer": tuple(METHODS), "scheme": tuple(SCHEMES)}
TABLES = ("detection", "quality", "losses", "removal", "poison", "timing")
FIGURES = ("confusion", "lambda3", "data_augmentation", "removal", "loss_curves", "effects")
KEYS = ("name", "title", *AXES, "repeats", "variants", "settings", "skip", "tables", "figures")
Variant = tuple[tuple[str, Any], ...]


class Skip(NamedTuple):
    """Units that are left out, by the values of their axes, and why."""

    where: dict[str, str]
    reason: str


@dataclass(frozen=True)
class Experiment:
    """What an experiment file says.

    Attributes
    ----------
    name, title
        What it is called, and what it shows in one line.
    dataset, explainer, scheme
        The axes.
    variants
        Fields of the scheme's config, by name, for each variant; one empty one by default.
    draws
        Row draws of each cell; repeats = draws x seeds.
    settings
        What is done in each unit.
    skip
        What is left out, with the reason.
    tables, figures
        What is shown of it by default.
    """

    name: str
    dataset: tuple[str, ...]
    explainer: tuple[str, ...]
    scheme: tuple[str, ...] = ("bilevel",)
    title: str = ""
    variants: tuple[Variant, ...] = ((),)
    draws: int = 5
    settings: Settings = field(default_factory=Settings)
    skip: tuple[Skip, ...] = ()
    tables: tuple[str, ...] = ("detection",)
    figures: tuple[str, ...] = ()


def read_experiment(
    path: str | Path, repeats: int | None = None, own: tuple[str, str] | None = None
) -> Experiment:
    """Read an experiment file; ``repeats``, and a table of one's ``own`` with its schema, replace its own."""
    path = Path(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path}: no TOML file: {problem}") from problem
    _known(path, document, KEYS)
    if own:
        document["dataset"] = [own[0]]
        document["settings"] = document.get("settings", {}) | {"schema": own[1]}
    axes = {axis: _axis(path, document, axis) for axis in AXES if axis in document or axis != "scheme"}
    settings = _settings(path, document.get("settings", {}))
    draws, seeds = _repeats(path, repeats or document.get("repeats", 50), settings.seeds)
    shown = {key: _choice(path, document, key) for key in ("tables", "figures") if key in document}
    experiment = Experiment(
        name=str(document.get("name", path.stem)),
        title=str(document.get("title", "")),
        variants=_variants(path, document.get("variants", {}), axes.get("scheme", ("bilevel",))),
        draws=draws,
        settings=replace(settings, seeds=seeds),
        skip=tuple(_skip(path, entry) for entry in document.get("skip", [])),
        **axes,
        **shown,
    )
    for skip in experiment.skip:
        _matching(units(experiment), {key: [value] for key, value in skip.where.items()}, f"{path}: skip")
    return experiment


def units(experiment: Experiment) -> list[Unit]:
    """Return every unit of the grid, draws innermost, so that what a cell needs is made once."""
    axes = product(experiment.dataset, experiment.explainer, experiment.scheme, experiment.variants)
    return [
        Unit(experiment.name, *axis, draw=draw, settings=experiment.settings)
        for axis in axes
        for draw in range(experiment.draws)
    ]


def select(among: Sequence[Unit], only: str) -> list[Unit]:
    """Return the units that a filter such as ``dataset=cancer|heloc,draw=0`` leaves."""
    wanted: dict[str, list[str]] = {}
    for part in filter(None, (part.strip() for part in only.split(","))):
        name, equals, values = part.partition("=")
        if not equals or not values:
            raise ConfigError(f"--only {part}: expected AXIS=VALUE, or AXIS=VALUE|VALUE")
        wanted[name.strip()] = [value.strip() for value in values.split("|")]
    return _matching(among, wanted, "--only")


def reason_to_skip(experiment: Experiment, unit: Unit) -> str | None:
    """Return why the experiment's file leaves a unit out."""
    facts = facts_of(unit)
    for skip in experiment.skip:
        if all(facts.get(key) == value for key, value in skip.where.items()):
            return skip.reason
    return None


def facts_of(unit: Unit) -> dict[str, str]:
    """Return what a unit can be chosen by: its axes, its draw, and the fields of its variant."""
    axes = {axis: str(getattr(unit, axis)) for axis in AXES}
    return axes | {name: str(value) for name, value in unit.variant} | {"draw": str(unit.draw)}


def _matching(among: Sequence[Unit], wanted: Mapping[str, Sequence[str]], place: str) -> list[Unit]:
    facts = [facts_of(unit) for unit in among]
    for name, values in wanted.items():
        there = dict.fromkeys(fact[name] for fact in facts if name in fact)
        if not there:
            raise ConfigError(f"{place}: there is no axis {name!r}; there are {', '.join(facts[0])}")
        for value in values:
            if value not in there:
                raise ConfigError(f"{place}: {name} has no {value!r} here; there are {', '.join(there)}")
    chosen = [
        unit
        for unit, fact in zip(among, facts, strict=True)
        if all(fact.get(name) in values for name, values in wanted.items())
    ]
    if not chosen:
        raise ConfigError(f"{place}: no unit has all of these values together")
    return chosen


def _known(place: Path | str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            raise ConfigError(f"{place}: there is no {key!r}; there are {', '.join(known)}")


def _choice(path: Path, document: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values, known = document[key], {"tables": TABLES, "figures": FIGURES, **AXES}[key]
    if not isinstance(values, list) or len(set(map(str, values))) != len(values):
        raise ConfigError(f"{path}: {key}: expected a list of different names, as in {key} = [{known[0]!r}]")
    built_in = [str(value) for value in values if not (key == "dataset" and is_table(str(value)))]
    _known(f"{path}: {key}", dict.fromkeys(built_in), known)
    return tuple(values)


def _axis(path: Path, document: Mapping[str, Any], axis: str) -> tuple[str, ...]:
    values = _choice(path, document, axis) if axis in document else ()
    if not values:
        raise ConfigError(f"{path}: {axis}: at least one of {', '.join(AXES[axis])} is needed")
    return values


def _settings(path: Path, table: Mapping[str, Any]) -> Settings:
    plain = Settings()
    known = {each.name: getattr(plain, each.name) for each in fields(Settings)}
    _known(f"{path}: settings", table, tuple(known))
    read: dict[str, Any] = {}
    for key, value in table.items():
        kind = type(known[key])
        value = float(value) if kind is float and type(value) is int else _frozen(value)
        if type(value) is not kind:
            raise ConfigError(f"{path}: settings: {key} = {table[key]!r} is not a {kind.__name__}")
        read[key] = value
    try:
        return Settings(**read)
    except ConfigError as problem:
        raise ConfigError(f"{path}: settings: {problem}") from problem


def _repeats(path: Path, repeats: Any, seeds: int) -> tuple[int, int]:
    """Return row draws and seeds; fewer repeats than seeds are one draw."""
    if not isinstance(repeats, int) or repeats < 1 or (repeats > seeds and repeats % seeds):
        raise ConfigError(f"{path}: repeats = {repeats}: up to {seeds} (the seeds), or a multiple of that")
    return (1, repeats) if repeats < seeds else (repeats // seeds, seeds)


def _variants(path: Path, given: Any, schemes: Sequence[str]) -> tuple[Variant, ...]:
    """Return the points of a grid (a table of lists), or those that are listed (a list of tables)."""
    if isinstance(given, list):
        points = given
    else:
        lists = [values if isinstance(values, list) else [values] for values in given.values()]
        points = [dict(zip(given, values, strict=True)) for values in product(*lists)]
    for scheme in schemes:
        known = {each.name for each in fields(SCHEMES[scheme])}
        for point in points:
            _known(f"{path}: variants of {scheme}", point, sorted(known))
            _hold(path, scheme, point)
    return tuple(tuple((name, _frozen(value)) for name, value in point.items()) for point in points)


def _hold(path: Path, scheme: str, point: Mapping[str, Any]) -> None:
    try:
        SCHEMES[scheme](**{name: _frozen(value) for name, value in point.items()})
    except (ConfigError, TypeError) as problem:
        raise ConfigError(f"{path}: variants of {scheme}: {point}: {problem}") from problem


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _skip(path: Path, entry: Mapping[str, Any]) -> Skip:
    where = {key: str(value) for key, value in entry.items() if key != "reason"}
    if not where or not entry.get("reason"):
        raise ConfigError(f"{path}: skip: an entry says what (dataset = ..., explainer = ...) and the reason")
    return Skip(where, str(entry["reason"]))
