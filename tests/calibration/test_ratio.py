"""The likelihood ratio is SciPy's Gaussian density, pair by pair, and finds what the mean cannot see."""

import numpy as np
from scipy import stats

from cfmark.calibration import fit_reference, ratio
from cfmark.calibration.ratio import EDGE, RIDGE
from cfmark.seeds import derive_seed


def rng(*axes: str | int) -> np.random.Generator:
    return np.random.default_rng(derive_seed("ratio", *axes))


def answers(random: np.random.Generator, shift: np.ndarray, count: int) -> np.ndarray:
    """Return (count, n, 2) probabilities whose logits are normal around ``shift`` (n, 2)."""
    return 1 / (1 + np.exp(-(shift + random.normal(0, 0.5, (count, *shift.shape)))))


def logits(p: np.ndarray) -> np.ndarray:
    p = np.clip(p, EDGE, 1 - EDGE)
    return np.log(p / (1 - p))


def test_it_is_the_difference_of_scipys_log_densities() -> None:
    random = rng("scipy")
    shift = random.normal(size=(3, 2))
    groups = {kind: answers(random, shift + move, 40) for kind, move in (("a", 0.5), ("b", 1.0), ("c", 0.0))}
    reference = fit_reference({"a": groups["a"], "b": groups["b"]}, {"c": groups["c"]})
    suspect = answers(random, shift, 2)

    def likelihood(kind: str, one: np.ndarray) -> float:
        z = logits(groups[kind])
        return sum(
            stats.multivariate_normal(z[:, i].mean(axis=0), np.cov(z[:, i].T) + RIDGE * np.eye(2)).logpdf(
                logits(one)[i]
            )
            for i in range(3)
        )

    wanted = [max(likelihood("a", s), likelihood("b", s)) - likelihood("c", s) for s in suspect]
    np.testing.assert_allclose(ratio(reference, suspect), np.array(wanted) / 3, rtol=1e-10)


def test_it_sees_opposite_shifts_that_cancel_in_the_mean() -> None:
    """Half of the pairs move up and half down: no mean difference, but a sure sign all the same."""
    random = rng("opposite")
    quiet = np.zeros((60, 2))
    moved = quiet.copy()
    moved[:30, 0], moved[30:, 0] = 0.6, -0.6
    reference = fit_reference(
        {"thief": answers(random, moved, 100)}, {"innocent": answers(random, quiet, 100)}
    )
    thieves, innocents = answers(random, moved, 50), answers(random, quiet, 50)
    assert ratio(reference, thieves).min() > ratio(reference, innocents).max()
    gap = [(a[:, :, 0] - a[:, :, 1]).mean(axis=1) for a in (thieves, innocents)]
    assert gap[0].min() < gap[1].max()


def test_answers_of_exactly_zero_and_one_are_finite() -> None:
    random = rng("edges")
    sure = np.round(answers(random, np.zeros((4, 2)), 20))
    reference = fit_reference({"thief": sure}, {"innocent": 1 - sure})
    assert np.isfinite(ratio(reference, sure)).all()


def test_shadows_that_all_agree_rule_nothing_out() -> None:
    same = np.full((20, 4, 2), 0.5)
    reference = fit_reference({"thief": same}, {"innocent": same})
    np.testing.assert_allclose(ratio(reference, np.full((1, 4, 2), 0.9)), 0)
