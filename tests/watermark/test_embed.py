"""``embed`` on real and made-up tables: what it promises for every scheme."""

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest

import trained
from cfmark.data import Dataset, rules_of
from cfmark.errors import ConfigError, EmbeddingError
from cfmark.evaluation import violations
from cfmark.explainers import explain, fit_explainer
from cfmark.models import JaxClassifier
from cfmark.types import Explanations, FloatArray, MarkedExplanations, predict
from cfmark.watermark import BilevelConfig, EmbedConfig, EmbedInfo, RandomConfig, embed
from cfmark.watermark.bilevel import Table, algorithm, theta_of
from cfmark.watermark.bilevel.config import split

ROWS = 20
#: Quick, and the same program for every test on a data set.
QUICK = BilevelConfig(steps=6, unroll=3, ensemble=2, hidden=(8, 4), batch_size=16, background=8, delta=0.1)
CASES = [
    ("cancer", "actionable"),
    ("synthetic", "paper"),
    *(
        pytest.param(name, schema, marks=pytest.mark.files)
        for name in ("heloc", "credit", "loan")
        for schema in ("paper", "actionable")
    ),
]


@cache
def answers(name: str, schema: str = "paper", n_cfs: int = 1, rows: int = ROWS) -> Explanations:
    data, model = trained.dataset(name, schema), trained.classifier(name, schema)
    explainer = fit_explainer(jax.random.key(1), "growing_sphere", data, model, n_cfs=n_cfs)
    return explain(jax.random.key(2), explainer, data.query.x[:rows])


def marks(
    name: str, schema: str = "paper", config: EmbedConfig = QUICK, key: int = 0, **options: Any
) -> tuple[MarkedExplanations, EmbedInfo]:
    data, model = trained.dataset(name, schema), trained.classifier(name, schema)
    return embed(jax.random.key(key), answers(name, schema, **options), model, data, config)


def honest(marked: MarkedExplanations, data: Dataset, model: JaxClassifier, delta: float) -> None:
    """Check what every scheme promises, in the table's own units."""
    x, issued, cf, found, paired, target = marked
    np.testing.assert_array_equal(paired, found & (issued != cf).any(axis=2))
    assert not issued[~found].any()
    rows, classes = (
        np.repeat(x[:, None], cf.shape[1], 1)[found],
        np.repeat(target[:, None], cf.shape[1], 1)[found],
    )
    served = data.encoder.decode(issued[found])
    again = data.encoder.encode(served)
    np.testing.assert_array_equal(again.view(np.int32), issued[found].view(np.int32))
    np.testing.assert_array_equal(predict(model, again), classes)
    assert not violations(data.schema, data.encoder.decode(rows), served).any()
    scalars = len(data.encoder.scalars)
    np.testing.assert_array_equal(issued[..., scalars:], cf[..., scalars:])
    within = np.abs(issued - cf)[found][:, :scalars] <= delta + data.encoder.step / 2 + 1e-6
    assert within.all()
    still = np.array([f.immutable for f in data.encoder.scalars], bool)
    np.testing.assert_array_equal(issued[found][:, :scalars][:, still], rows[:, :scalars][:, still])


@pytest.mark.parametrize(("name", "schema"), CASES)
def test_promises(name: str, schema: str) -> None:
    data, model = trained.dataset(name, schema), trained.classifier(name, schema)
    marked, info = marks(name, schema)
    honest(marked, data, model, QUICK.delta)
    assert marked.paired.mean() > 0.2
    assert len(info.curves) == -(-int(marked.found.sum()) // QUICK.batch_size)
    for curves in info.curves:
        assert all(np.isfinite(curve).all() and len(curve) == QUICK.steps for curve in curves)
    assert ((info.share > 0) >= marked.paired).all()
    honest(marks(name, schema, RandomConfig(0.1))[0], data, model, 0.1)


@pytest.mark.parametrize("name", ["synthetic", "cancer", pytest.param("heloc", marks=pytest.mark.files)])
def test_the_budget_holds_but_for_rounding(name: str) -> None:
    """Rounding moves a column by half a step of its grid at most."""
    data = trained.dataset(name)
    marked, _ = marks(name, config=replace(QUICK, proximity=0.02))
    found = marked.found[:, 0]
    x, issued, cf = marked.x[found], marked.issued[found, 0], marked.counterpart[found, 0]
    before, after = np.abs(cf - x).sum(axis=1), np.abs(issued - x).sum(axis=1)
    assert (after <= 1.02 * before + data.encoder.step.sum() / 2 + 1e-5).all()
    assert marked.paired.any()
    free, _ = marks(name)
    unbound = np.abs(free.issued[found, 0] - x).sum(axis=1)
    assert (unbound > 1.02 * before + data.encoder.step.sum() / 2 + 1e-5).any()


def test_several_counterfactuals_a_query() -> None:
    data, model = trained.dataset("synthetic"), trained.classifier("synthetic")
    marked, info = marks("synthetic", n_cfs=3)
    assert marked.issued.shape == (ROWS, 3, data.width) == (*info.share.shape, data.width)
    honest(marked, data, model, QUICK.delta)
    assert marked.paired.any(axis=0).all()


def test_keys_decide() -> None:
    same, other = (marks("synthetic", key=key)[0].issued for key in (0, 1))
    np.testing.assert_array_equal(marks("synthetic")[0].issued, same)
    assert (same != other).any()
    config = replace(QUICK, steps=1, step_size=1e-6, start="uniform")
    first, second = (marks("synthetic", config=config, key=key)[0] for key in (0, 1))
    assert (first.issued != second.issued).any()
    assert np.abs(first.issued - first.counterpart).max() > 0.05


@pytest.mark.parametrize(
    "change", [{"steps": 1}, {"background": 0}, {"unroll": 1}, {"poison_form": "kl", "validity_form": "log"}]
)
def test_corners(change: dict[str, Any]) -> None:
    data, model = trained.dataset("synthetic"), trained.classifier("synthetic")
    marked, _ = marks("synthetic", config=replace(QUICK, **change))
    honest(marked, data, model, QUICK.delta)
    assert marked.paired.any()


def test_nothing_found_is_nothing_marked() -> None:
    data, model, found = trained.dataset("synthetic"), trained.classifier("synthetic"), answers("synthetic")
    none = found._replace(found=np.zeros_like(found.found), cf=np.zeros_like(found.cf))
    marked, info = embed(jax.random.key(0), none, model, data, QUICK)
    assert not marked.paired.any()
    assert not marked.issued.any()
    assert info.curves == []


def theta(config: BilevelConfig) -> FloatArray:
    data, model, found = trained.dataset("synthetic"), trained.classifier("synthetic"), answers("synthetic")
    table = Table(found.x, found.cf[:, 0], found.target)
    return theta_of(jax.random.key(0), data, model, table, config)[0]


def test_a_loss_that_is_not_finite_names_its_batch() -> None:
    config = replace(QUICK, learning_rate=1e30)
    with pytest.raises(
        EmbeddingError, match=r"batch 1 of 2 is not finite; lower learning_rate \(it is 1e\+30\)"
    ):
        theta(config)


def test_padding_does_not_reach_the_other_rows() -> None:
    data, model, found = trained.dataset("synthetic"), trained.classifier("synthetic"), answers("synthetic")
    (rules, layout), (plan, knobs) = rules_of(data.encoder), split(QUICK, data.width)
    innocent = algorithm.benign(
        model.apply, plan, model.params, knobs, jax.random.key(0), data.train.x[: 16 + QUICK.background]
    )

    def first_ten(padding: int) -> list[FloatArray]:
        rows = np.array([*range(10), *[padding] * 6])
        parts = found.x[rows], found.cf[rows, 0], found.target[rows], (np.arange(16) < 10).astype(np.float32)
        batch = algorithm.Batch(jax.random.key(1), *parts, data.train.x[: QUICK.background])
        theta, curves = algorithm.mark(model.apply, plan, layout, model.params, rules, knobs, batch, innocent)
        assert not theta[10:].any()
        return [np.asarray(part) for part in (theta[:10], *curves)]

    for one, other in zip(first_ten(padding=3), first_ten(padding=15), strict=True):
        assert one.any()
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_numbers_change_without_compiling_again() -> None:
    theta(QUICK)
    before = algorithm.mark._cache_size()  # type: ignore[attr-defined]
    theta(replace(QUICK, regularisation=0.5, delta=0.02, learning_rate=0.02))
    assert algorithm.mark._cache_size() == before  # type: ignore[attr-defined]
    theta(replace(QUICK, unroll=2))
    assert algorithm.mark._cache_size() == before + 1  # type: ignore[attr-defined]


def test_the_weights_do_what_they_say() -> None:
    """Poison alone raises the thieves' preference; regularisation alone lowers the benign models'."""
    data, model, found = trained.dataset("synthetic"), trained.classifier("synthetic"), answers("synthetic")
    table = Table(found.x, found.cf[:, 0], found.target)
    config = replace(QUICK, steps=20, unroll=5)

    def last(**weights: float) -> tuple[float, float]:
        chosen = replace(config, **({"poison": 0.0, "validity": 0.0, "regularisation": 0.0} | weights))
        _, curves = theta_of(jax.random.key(0), data, model, table, chosen)
        return float(curves[0].poison[-1]), float(curves[0].regularisation[-1])

    assert last(poison=1.0)[0] > 0.02
    assert last(regularisation=1.0)[1] < -0.02
    assert last(validity=1.0) != last(poison=1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"delta": 0.0},
        {"delta": float("nan")},
        {"step_size": 0.0},
        {"poison": -1.0},
        {"learning_rate": 0.0},
        {"proximity": -0.1},
        {"proximity": float("nan")},
        {"poison_form": "squared"},
        {"start": "ones"},
        {"hidden": ()},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        BilevelConfig(**wrong)
    with pytest.raises(ConfigError):
        RandomConfig(0.0)
