from typing import Any

import jax
import numpy as np
import pytest

import trained
from cfmark.errors import ConfigError
from cfmark.explainers import DiceConfig, dice, explain
from cfmark.explainers.dice import _log_determinant
from cfmark.types import Explanations, FloatArray


def explained(**options: Any) -> Explanations:
    data = trained.dataset("cancer")
    explainer = dice.fit(jax.random.key(0), data, trained.classifier("cancer"), DiceConfig(**options))
    return explain(jax.random.key(1), explainer, data.query.x[:32])


def apart(result: Explanations) -> FloatArray:
    """Return the mean L1 distance between the answers to each query."""
    full = result.cf[result.found.all(axis=1)]
    assert len(full) > 20
    pairs = np.abs(full[:, :, None] - full[:, None]).sum(axis=3)
    return pairs.mean(axis=(1, 2))


def test_diversity_moves_answers_apart() -> None:
    near, far = (explained(n_cfs=3, diversity=weight, refine=False) for weight in (0.0, 2.0))
    assert apart(far).mean() > 1.3 * apart(near).mean()


def test_proximity_keeps_answers_near() -> None:
    loose, tight = (explained(proximity=weight, refine=False) for weight in (0.0, 1.0))
    lengths = [np.abs(r.cf[:, 0] - r.x)[r.found[:, 0]].sum(axis=1).mean() for r in (loose, tight)]
    assert lengths[1] < lengths[0]


def test_log_determinant_by_hand() -> None:
    points = np.array([[[0.0, 0.0], [1.0, 2.0]], [[0.5, 0.5], [0.5, 0.5]]], np.float32)
    kernel = np.array([[1.001, 0.25], [0.25, 1.001]])
    expected = [np.log(np.linalg.det(kernel)), np.log(1.001**2 - 1)]
    np.testing.assert_allclose(_log_determinant(points), expected, rtol=1e-3)


def test_a_network_is_its_own_guide() -> None:
    model = trained.classifier("cancer")
    explainer = dice.fit(jax.random.key(0), trained.dataset("cancer"), model)
    assert explainer.guide is model
    assert explainer.agreement == 1


def test_donors_are_of_the_class_the_model_gives() -> None:
    data, model = trained.dataset("cancer"), trained.classifier("cancer")
    explainer = dice.fit(jax.random.key(0), data, model)
    for label in (0, 1):
        p = model.predict_proba(explainer.donors[label])
        assert (p[:, label] >= 0.5).all()
    assert sum(map(len, explainer.donors)) == len(data.train.x)


@pytest.mark.parametrize(
    "options",
    [
        {"n_cfs": 0},
        {"max_steps": 0},
        {"patience": 0},
        {"restarts": -1},
        {"proximity": -1},
        {"learning_rate": 0},
    ],
)
def test_bad_configs(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        DiceConfig(**options)
    assert hash(DiceConfig()) == hash(DiceConfig())
