"""One unit of an experiment, from rows of data to rows of results."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from cfmark.attacks import agreement, attacked
from cfmark.calibration import (
    FAMILIES_OF,
    SCORES,
    Answers,
    Calibration,
    CalibrationConfig,
    calibrate,
    innocents,
)
from cfmark.evaluation.desk import (
    Desk,
    World,
    open_desk,
    preset_of,
    queries_of,
    scheme_of,
    sources_of,
    world_of,
)
from cfmark.evaluation.machine import peak_megabytes
from cfmark.evaluation.measured import curves, quality_row
from cfmark.evaluation.removed import removed
from cfmark.evaluation.settings import Unit
from cfmark.evaluation.suspects import GUILTY, Suspect, answers_of, held_out, kinds_of, train
from cfmark.types import FloatArray, MarkedExplanations
from cfmark.verification import Scores, Verdict, calibrated_test, t_test

Row = dict[str, Any]
#: Kept away from 0 before a logarithm is taken.
TINY = 1e-9
#: With fewer pairs no test can flag anybody: where the guard undid nearly every mark.
FEWEST_PAIRS = 2


class Clock:
    """Seconds by phase."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    @contextmanager
    def of(self, phase: str, models: int = 0) -> Iterator[None]:
        """Measure what happens inside."""
        start = time.monotonic()
        yield
        self.rows.append(
            {"record": "timing", "phase": phase, "seconds": time.monotonic() - start, "models": models}
        )


def run_unit(unit: Unit) -> list[Row]:
    """Run a unit: mark what is issued for its rows, calibrate, train the suspects and test each."""
    clock = Clock()
    chosen = preset_of(unit)
    with clock.of("prepare"):
        world = world_of(unit.dataset, unit.explainer, chosen.n_cfs, unit.settings.schema)
    config = scheme_of(unit, chosen)
    ours = open_desk(unit, world, config)
    drawn = queries_of(unit, world.dataset)
    x = world.dataset.query.x[drawn]
    with clock.of("explain"):
        answers = ours.explained(x)
    with clock.of("mark", int(answers.found.sum())):
        pairs = ours.marked(x)
    info = ours.infos[-1]
    rows = [quality_row(unit, world, pairs, info)]
    rows += curves(info) if unit.settings.curves else []
    if unit.settings.attacks or unit.settings.innocents:
        rows += _tried(unit, ours, drawn, pairs, chosen.tau, clock)
    timed = [row | {"peak_mb": peak_megabytes()} for row in clock.rows]
    return [{**_axes(unit), **row} for row in [*rows, *timed]]


class Bench(NamedTuple):
    """What every suspect of a unit is tested with."""

    unit: Unit
    pairs: MarkedExplanations
    tau: float
    calibrations: dict[str, Calibration]

    @property
    def n(self) -> int:
        """How many pairs there are to ask about."""
        return int(self.pairs.paired.sum())


def _tried(
    unit: Unit, ours: Desk, drawn: NDArray[np.int64], pairs: MarkedExplanations, tau: float, clock: Clock
) -> list[Row]:
    query = ours.world.dataset.query
    x, y = query.x[drawn], query.y[drawn]
    sources = sources_of(ours, open_desk(unit, ours.world, ours.config, owner="another"))
    with clock.of("gather"):
        kinds = kinds_of(unit, sources, x, y)
    bench = Bench(unit, pairs, tau, _calibrations(unit, ours, x, pairs, clock))
    treated = max(len(unit.settings.strengths), 1)
    with clock.of("suspects", len(kinds) * unit.settings.seeds * treated):
        suspects = removed(unit, kinds, sources.ours, x, ours.world.dataset) or train(unit, kinds)
    with clock.of("test", len(suspects)):
        return _verdicts(bench, ours.world, suspects)


def _calibrations(
    unit: Unit, ours: Desk, x: FloatArray, pairs: MarkedExplanations, clock: Clock
) -> dict[str, Calibration]:
    """Calibrate against each pool, on keys that no suspect has."""
    settings, made = unit.settings, {}
    if pairs.paired.sum() < FEWEST_PAIRS:
        return {}
    sources = sources_of(ours, open_desk(unit, ours.world, ours.config, owner="a third"))
    key = jax.random.key(unit.seed("calibrate"))
    for number, pool in _pools(unit):
        key_rows, key_shadows = jax.random.split(jax.random.fold_in(key, number))
        learnt = innocents(key_rows, pool, sources, x, ours.world.dataset)
        guilty = {
            f"{kind}, {labels}": attacked(kind, sources.ours, x, labels)
            for kind in GUILTY
            for labels in settings.labels
        }
        config = CalibrationConfig(
            settings.fit, settings.rank, alpha=settings.alpha, families=FAMILIES_OF[pool]
        )
        shadows = len(learnt) * len(config.families) * (config.fit + config.rank)
        shadows += len(guilty) * (config.fit + config.power)
        with clock.of("calibrate" if pool == "queries" else "calibrate_all", shadows):
            made[pool] = calibrate(key_shadows, guilty, learnt, pairs, config)
    return made


def _verdicts(bench: Bench, world: World, suspects: list[Suspect]) -> list[Row]:
    rows = held_out(bench.unit, world.dataset)
    found: list[Row] = []
    for suspect in suspects:
        about = {
            "record": "verdict",
            "suspect": suspect.kind.suspect,
            "guilty": suspect.kind.guilty,
            "labels": suspect.kind.labels,
            "family": suspect.kind.family,
            "seed": suspect.number,
            "removal": bench.unit.settings.removal,
            "strength": suspect.strength,
            "agreement": agreement(suspect.model, world.classifier, rows),
        }
        if bench.n < FEWEST_PAIRS:
            found += [{**about, **row} for row in _untested(bench)]
            continue
        answers = answers_of(suspect.model, bench.pairs)
        about["poison"] = float(np.log((answers[0, :, 0] + TINY) / (answers[0, :, 1] + TINY)).mean())
        found += [{**about, **row} for row in _tests(bench, answers)]
    return found


def _pools(unit: Unit) -> list[tuple[int, str]]:
    """Return the pools that a unit is calibrated against, with their numbers in the settings."""
    strict = unit.draw < unit.settings.strict_draws
    return [(number, pool) for number, pool in enumerate(unit.settings.pools) if pool != "all" or strict]


def _untested(bench: Bench) -> list[Row]:
    """Return the outcome of every test where there are too few pairs for any: nobody is flagged."""
    settings = bench.unit.settings
    pools = [pool for _, pool in _pools(bench.unit)]
    named = [("t", "", "", "paper"), *(("t", pool, "", "calibrated") for pool in pools)]
    named += [("calibrated", pool, score, "") for pool in pools for score in SCORES]
    kept = {"alpha": settings.alpha, "p_value": 1.0, "n": bench.n, "flagged": False}
    return [dict(zip(("test", "pool", "score", "margin"), each, strict=True)) | kept for each in named]


def _tests(bench: Bench, answers: Answers) -> list[Row]:
    """Return every test's outcome for one suspect's answers (1, n, 2)."""
    alpha = bench.unit.settings.alpha
    scores = Scores(answers[0, :, 0], answers[0, :, 1], np.zeros(answers.shape[1], np.int64))
    rows = [_row(t_test(scores, bench.tau, alpha), margin="paper")]
    for pool, calibration in bench.calibrations.items():
        tau = max(-1.0, min(1.0, max(calibration.tau.values())))
        rows.append(_row(t_test(scores, tau, alpha), margin="calibrated", pool=pool))
        observed = calibration.scores_of(answers)
        for name in SCORES:
            verdict = calibrated_test(
                scores, calibration.nulls[name], alpha, observed=float(observed[name][0]), score_name=name
            )
            rows.append(_row(verdict, pool=pool, score=name))
    return rows


def _row(verdict: Verdict, *, margin: str = "", pool: str = "", score: str = "") -> Row:
    return {
        "test": verdict.test,
        "pool": pool,
        "score": score,
        "margin": margin,
        "alpha": verdict.alpha,
        "statistic": verdict.statistic,
        "p_value": verdict.p_value,
        "effect": verdict.effect,
        "tau": verdict.tau,
        "n": verdict.n,
        "flagged": verdict.flagged,
    }


def _axes(unit: Unit) -> Row:
    return {
        "experiment": unit.experiment,
        "dataset": unit.dataset,
        "explainer": unit.explainer,
        "scheme": unit.scheme,
        "variant": ",".join(f"{name}={value}" for name, value in unit.variant),
        "draw": unit.draw,
        "cell": unit.cell,
    }
