"""Calibration: tau keeps the innocents at alpha, shadows are like suspects, and nothing is trained twice."""

from functools import cache

import jax
import numpy as np
import pytest

import trained
from cfmark.attacks import LocalOracle, Sources, mrce
from cfmark.calibration import (
    FAMILIES_OF,
    Calibration,
    CalibrationConfig,
    calibrate,
    calibrated_tau,
    innocents,
    models_answers,
)
from cfmark.data import Dataset
from cfmark.errors import ConfigError
from cfmark.explainers import explain, fit_explainer
from cfmark.seeds import derive_seed
from cfmark.types import MarkedExplanations
from cfmark.verification import Scores, t_test
from cfmark.watermark import RandomConfig, embed

SMALL = CalibrationConfig(fit=20, rank=39, power=10, families=("logistic",))


@cache
def issued() -> tuple[Dataset, MarkedExplanations, Sources]:
    dataset, classifier = trained.dataset("cancer"), trained.classifier("cancer")
    explainer = fit_explainer(jax.random.key(derive_seed("calibrate")), "dice", dataset, classifier)
    answers = explain(jax.random.key(derive_seed("calibrate", "explain")), explainer, dataset.query.x[:48])
    pairs, _ = embed(
        jax.random.key(derive_seed("calibrate", "mark")), answers, classifier, dataset, RandomConfig(0.1)
    )
    ours = LocalOracle(classifier, lambda x: (pairs.issued, pairs.found))
    unmarked = LocalOracle(classifier, lambda x: (pairs.counterpart, pairs.found))
    return dataset, pairs, Sources(ours, unmarked, unmarked)


@cache
def calibration() -> Calibration:
    dataset, pairs, sources = issued()
    key = jax.random.key(derive_seed("calibrate", "shadows"))
    innocent = innocents(key, "all", sources, pairs.x, dataset)
    return calibrate(key, {"mrce": mrce(sources.ours, pairs.x)}, innocent, pairs, SMALL)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
def test_tau_flags_a_further_innocent_at_most_alpha_often(alpha: float) -> None:
    """Each of 200 innocents in turn is the suspect, the others are its shadows: exact by exchange."""
    random = np.random.default_rng(derive_seed("tau", str(alpha)))
    spread = random.normal(0, 0.05, (200, 1))
    answers = np.clip(0.5 + spread[:, :, None] * [1, -1] + random.normal(0, 0.1, (200, 30, 2)), 0, 1)
    flagged = 0
    for i in range(len(answers)):
        tau = calibrated_tau(np.delete(answers, i, axis=0), alpha)
        scores = Scores(answers[i, :, 0], answers[i, :, 1], np.zeros(30, np.int64))
        flagged += t_test(scores, tau, alpha).flagged
    assert flagged / len(answers) <= alpha
    assert flagged / len(answers) > alpha / 2


def test_every_kind_has_its_own_nulls_tau_and_as_many_shadows_as_asked_for() -> None:
    kinds = {f"{kind}, logistic" for kind in ("queries", "true_labels", "unmarked", "foreign")}
    found = calibration()
    assert set(found.tau) == kinds
    for name in ("mean", "ratio"):
        assert {kind: len(null) for kind, null in found.nulls[name].items()} == dict.fromkeys(
            kinds, SMALL.rank
        )
        assert set(found.power[name]) == {"mrce"}
        assert 0 <= found.power[name]["mrce"] <= 1


def test_true_label_shadows_have_rows_of_their_own_and_the_rows_are_the_owners() -> None:
    dataset, pairs, sources = issued()
    learnt = innocents(jax.random.key(derive_seed("rows")), "all", sources, pairs.x, dataset)["true_labels"]
    assert isinstance(learnt, list)
    train = {row.tobytes(): int(y) for row, y in zip(dataset.train.x, dataset.train.y, strict=True)}
    for transcript in learnt[:5]:
        assert len(transcript.x) == len(pairs.x)
        assert [train[row.tobytes()] for row in transcript.x] == transcript.y.argmax(axis=1).tolist()
    assert len({transcript.x.tobytes() for transcript in learnt}) == len(learnt)


def test_the_pool_of_queries_has_one_kind_and_all_has_every_family() -> None:
    dataset, pairs, sources = issued()
    key = jax.random.key(derive_seed("pool"))
    assert set(innocents(key, "queries", sources, pairs.x, dataset)) == {"queries"}
    assert FAMILIES_OF["all"] == ("mlp", "logistic", "forest", "boosting")
    with pytest.raises(ConfigError, match="no pool 'everybody'"):
        innocents(key, "everybody", sources, pairs.x, dataset)


def test_shadows_on_a_list_learn_each_from_its_own_rows() -> None:
    _, pairs, sources = issued()
    transcript = mrce(sources.ours, pairs.x)
    turned = transcript._replace(y=transcript.y[:, ::-1].copy())
    key = jax.random.key(derive_seed("list"))
    found = models_answers(key, [transcript, turned], pairs, 4, "logistic")
    np.testing.assert_allclose(found[0], found[2])
    np.testing.assert_allclose(found[1], found[3])
    np.testing.assert_allclose(found[0], 1 - found[1], atol=1e-3)


def test_the_same_key_gives_the_same_calibration_and_another_key_another() -> None:
    dataset, pairs, sources = issued()
    key = jax.random.key(derive_seed("again"))
    guilty = {"mrce": mrce(sources.ours, pairs.x)}
    innocent = {"queries": innocents(key, "queries", sources, pairs.x, dataset)["queries"]}
    config = CalibrationConfig(fit=10, rank=19, power=0, families=("forest",))
    first, again, other = (
        calibrate(k, guilty, innocent, pairs, config) for k in (key, key, jax.random.key(1))
    )
    kind = "queries, forest"
    np.testing.assert_array_equal(first.nulls["ratio"][kind], again.nulls["ratio"][kind])
    assert (first.nulls["ratio"][kind] != other.nulls["ratio"][kind]).any()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"fit": 5}, "at least 10 shadows"),
        ({"rank": 18}, "can never reach alpha"),
        ({"rank": 98, "alpha": 0.01}, "can never reach alpha"),
        ({"alpha": 0.0}, "can never reach alpha"),
        ({"power": -1}, "cannot be negative"),
    ],
)
def test_calibrations_that_could_not_work_are_refused(options: dict[str, float], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        CalibrationConfig(**options)  # type: ignore[arg-type]
