import numpy as np
import pytest
from numpy.typing import NDArray

from cfmark.errors import ConfigError
from cfmark.verification import fit_weights, log_ratios, sign_flips

Array = NDArray[np.float64]
PAIRS = 30


def models(seed: int, many: int, strength: float) -> tuple[Array, Array]:
    """Return coins and answers of thieves: a coin moves its own pair, luck moves all."""
    random = np.random.default_rng(seed)
    where = np.random.default_rng(99)
    effect, shared = strength * where.normal(size=(PAIRS, 2)), where.normal(size=(3, PAIRS, 2))
    sign = random.choice([-1.0, 1.0], (many, PAIRS))
    luck = np.einsum("sj,jki->ski", random.normal(size=(many, 3)), shared)
    z = 0.5 + sign[:, :, None] * effect + luck + 0.5 * random.normal(size=(many, PAIRS, 2))
    return sign, 1 / (1 + np.exp(-z))


def t_values(sign: Array, ratios: Array) -> Array:
    return (sign * ratios).sum(axis=1) / np.sqrt((ratios**2).sum(axis=1))


def test_coins_are_seen_through_the_luck_of_a_training() -> None:
    weights = fit_weights(*models(0, 400, 0.2))
    sign, answers = models(1, 200, 0.2)
    learnt = t_values(sign, log_ratios(weights, answers))
    plain = t_values(sign, answers[:, :, 0] - answers[:, :, 1])
    assert np.median(learnt) > np.median(plain) + 1
    assert sign_flips({"learnt": log_ratios(weights, answers[0])}, sign[0], 999).p_value < 0.2


def test_of_the_innocent_the_ratios_say_nothing() -> None:
    weights = fit_weights(*models(0, 400, 0.2))
    _, answers = models(2, 400, 0.0)
    coins = np.random.default_rng(3).choice([-1.0, 1.0], (400, PAIRS))
    t = t_values(coins, log_ratios(weights, answers))
    assert abs(t.mean()) < 4 / 20
    assert 0.85 < t.std() < 1.15


def test_ratios_do_not_overstate_what_they_know() -> None:
    """Of coins whose ratio is about r, at least a share of about sigmoid(r) is as it says."""
    weights = fit_weights(*models(0, 4000, 0.3))
    sign, answers = models(1, 2000, 0.3)
    r, s = log_ratios(weights, answers).ravel(), sign.ravel()
    for low, high in ((0.2, 0.6), (0.8, 1.2), (1.8, 2.2)):
        there = (abs(r) > low) & (abs(r) < high)
        right = (s[there] == np.sign(r[there])).mean()
        told = (1 / (1 + np.exp(-abs(r[there])))).mean()
        assert right > told - 0.02


def test_one_suspect_and_many_get_the_same_ratios() -> None:
    weights = fit_weights(*models(0, 100, 0.2))
    _, answers = models(1, 5, 0.2)
    one = log_ratios(weights, answers[3])
    assert one.shape == (PAIRS,)
    np.testing.assert_allclose(one, log_ratios(weights, answers)[3])


def test_what_does_not_fit_together() -> None:
    sign, answers = models(0, 100, 0.2)
    weights = fit_weights(sign, answers)
    for wrong, message in [
        (lambda: fit_weights(sign[:, :-1], answers), "not of s shadows and k pairs"),
        (lambda: fit_weights(sign * 0, answers), "not of s shadows"),
        (lambda: fit_weights(sign[:9], answers[:9]), "9 shadows are too few"),
        (lambda: log_ratios(weights, answers[:, :-1]), "to weights for 30 pairs"),
    ]:
        with pytest.raises(ConfigError, match=message):
            wrong()
