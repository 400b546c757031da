"""The tests ``t`` and ``calibrated``: what is held against a suspect, and with which probability of error."""

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike
from scipy import special

from cfmark.errors import ConfigError
from cfmark.verification.checks import between, number, numbers, share
from cfmark.verification.scores import Moments, Scores, moments
from cfmark.verification.verdict import Interval, Verdict

_CLASS_FIXED = (
    "The class asked about at every pair was fixed beforehand: it is the class that the owner's model gives "
    "the counterfactual, never the suspect's own choice."
)
_PAIRS_FIXED = (
    "The pairs are all that were issued, or a random sample of them; none was chosen or left out after the "
    "suspect had answered."
)
_INDEPENDENT = (
    "The differences at the pairs are independent of each other (several counterfactuals of one query are "
    "not), and numerous or regular enough for their mean to be close to normal."
)
_MARGIN = (
    "The margin tau was chosen without looking at the suspect, and suits these data: models that never saw a "
    "marked counterfactual have a mean difference of at most tau. A margin that is too small accuses the "
    "innocent."
)


def t_test(scores: Scores, tau: float = 0.0, alpha: float = 0.05) -> Verdict:
    """Test whether the mean difference exceeds tau: the paper's Proposition 1, paired and one-sided.

    T = sqrt(n) (mean(d) - tau) / sd(d), with n - 1 in the variance, against t with n - 1 degrees of freedom.
    The interval is the one-sided one that belongs to the test: flagged when its lower end is above tau.

    When all differences are equal, T is not defined (None): the p-value is 0 when they exceed tau, else 1.
    """
    tau, alpha = between("tau", tau, -1, 1), share("alpha", alpha)
    found = moments(scores)
    n, mean, deviation = found
    assumptions = [_CLASS_FIXED, _PAIRS_FIXED, _INDEPENDENT, _MARGIN]
    statistic: float | None = None
    if deviation > 0:
        statistic = math.sqrt(n) * (mean - tau) / deviation
        p_value = float(special.stdtr(n - 1, -statistic))
    else:
        p_value = 0.0 if mean > tau else 1.0
        assumptions.append(
            f"All {n} differences are equal, so the t statistic is not defined; the p-value is {p_value:g} "
            f"by convention, as their common value {mean:.6g} is {'' if mean > tau else 'not '}above tau."
        )
    return Verdict(
        test="t",
        null=f"On average, the suspect gives the issued points a probability of their class that is at most "
        f"tau = {tau:g} higher than at their counterparts.",
        statistic=statistic,
        p_value=p_value,
        effect=mean,
        interval=_lower_bound(found, alpha),
        n=n,
        tau=tau,
        alpha=alpha,
        assumptions=tuple(assumptions),
        details={"deviation": deviation, "degrees_of_freedom": n - 1},
    )


def theorem_condition(scores: Scores, tau: float = 0.0, alpha: float = 0.05) -> bool:
    r"""Say whether the paper's Theorem 1, with its sign corrected, rejects the hypothesis.

    With :math:`\bar d` the mean of the differences and :math:`\tilde d = \sum_i d_i^2`, it rejects if

    .. math:: \sqrt{n^2 - n}\,(\bar d - \tau) - t_{1-\alpha} \sqrt{\tilde d - n \bar d^2} > 0

    The paper has a plus under the root. Its proof needs
    :math:`(n - 1) \sigma_d^2 = \sum_i (d_i - \bar d)^2`, and expanding the square gives
    :math:`\sum_i d_i^2 - 2 \bar d \sum_i d_i + n \bar d^2 = \tilde d - 2 n \bar d^2 + n \bar d^2
    = \tilde d - n \bar d^2`, because :math:`\sum_i d_i = n \bar d`. With the plus, equal differences would
    have a variance, and the condition could not hold for small n however clear the case.

    The sums are exact fractions: the difference under the root cancels almost everything when the differences
    scatter little.
    """
    tau, alpha = between("tau", tau, -1, 1), share("alpha", alpha)
    d = [Fraction(value) for value in scores.difference.tolist()]
    n = len(d)
    if n < 2:
        raise ConfigError(f"a scatter needs at least 2 pairs; there are {n}")
    mean, d_tilde = sum(d) / n, sum(value * value for value in d)
    left = math.sqrt(n * n - n) * float(mean - Fraction(tau))
    return bool(left - _quantile(n, alpha) * math.sqrt(float(d_tilde - n * mean * mean)) > 0)


def rank_p_value(observed: float, null: ArrayLike) -> float:
    """Return (1 + number of null values >= observed) / (1 + number of null values).

    If the observed value is exchangeable with the null values, this is at most u with probability at most u,
    for every u; ties count against the accusation.

    >>> rank_p_value(2.5, [1.0, 2.0, 3.0])
    0.5
    """
    observed, values = number("the observed score", observed), numbers("null scores", null)
    return (1 + int((values >= observed).sum())) / (1 + len(values))


def calibrated_test(
    scores: Scores,
    null_scores_by_kind: Mapping[str, ArrayLike],
    alpha: float = 0.05,
    *,
    observed: float | None = None,
    score_name: str = "mean",
) -> Verdict:
    """Test whether the suspect behaves like one of several kinds of innocent models.

    Each kind gives a rank (conformal) p-value; the verdict's is the largest. So a suspect of any one of these
    kinds is flagged with probability at most alpha. A rank among all kinds together would hide a kind that is
    always flagged.

    Parameters
    ----------
    scores
        The suspect's answers at the pairs.
    null_scores_by_kind
        For each kind, the scores of shadow models of that kind on the very same pairs. At least
        ``samples_needed(alpha)`` each, or no suspect could ever be flagged.
    alpha
        The level.
    observed
        The suspect's score, computed as the shadows' were; by default the mean difference.
    score_name
        What that score is called.
    """
    alpha, found = share("alpha", alpha), moments(scores)
    if observed is None and score_name != "mean":
        raise ConfigError(
            f"the observed score is missing; only the score 'mean' is computed here, not {score_name!r}"
        )
    value = found.mean if observed is None else number("the observed score", observed)
    kinds = _per_kind(value, null_scores_by_kind, alpha)
    decided_by = max(kinds, key=lambda kind: float(kinds[kind]["p_value"]))
    return Verdict(
        test="calibrated",
        null=f"The suspect is an innocent model of one of these kinds: {'; '.join(kinds)}.",
        statistic=value,
        p_value=kinds[decided_by]["p_value"],
        effect=found.mean,
        interval=_lower_bound(found, alpha),
        n=found.n,
        tau=None,
        alpha=alpha,
        assumptions=(_CLASS_FIXED, _PAIRS_FIXED, *_rank_assumptions(kinds, decided_by, score_name)),
        details={"score": score_name, "decided_by": decided_by, "kinds": kinds},
    )


def samples_needed(alpha: float) -> int:
    """Return the fewest null values with which a rank p-value can be as small as alpha: ceil(1/alpha) - 1.

    >>> samples_needed(0.05), samples_needed(0.01)
    (19, 99)
    """
    alpha = share("alpha", alpha)
    guess = max(1, math.ceil(1 / alpha) - 2)  # 1 / alpha is rounded, the p-value is what counts
    return next(k for k in itertools.count(guess) if 1 / (1 + k) <= alpha)


def _per_kind(observed: float, nulls: Mapping[str, ArrayLike], alpha: float) -> dict[str, dict[str, Any]]:
    if not nulls:
        raise ConfigError("there are no null scores: at least one kind of innocent model is needed")
    kinds: dict[str, dict[str, Any]] = {}
    for kind, null in nulls.items():
        values, needed = numbers(f"null scores of kind {kind!r}", null), samples_needed(alpha)
        if len(values) < needed:
            raise ConfigError(
                f"kind {kind!r} has {len(values)} null scores; {needed} are needed for a p-value of "
                f"{alpha:g}: train more shadow models, or test at a larger alpha"
            )
        kinds[str(kind)] = {"p_value": rank_p_value(observed, values), "samples": len(values)}
    return kinds


def _rank_assumptions(
    kinds: Mapping[str, Mapping[str, Any]], decided_by: str, score_name: str
) -> tuple[str, ...]:
    listed = "; ".join(f"{kind}: {k['p_value']:.4g} from {k['samples']} models" for kind, k in kinds.items())
    return (
        "If the suspect is innocent, it is of one of the kinds listed, and the shadow models of that kind "
        "are like it: trained as it was, scored on the very same pairs, and not used to fit the score. "
        "Innocent models of other kinds are not covered.",
        f"The p-value is the rank of the suspect's score ({score_name!r}) among the shadow models' scores, "
        "ties counted in the suspect's favour, for the kind that speaks most for innocence, "
        f"{decided_by!r} ({listed}).",
        "The confidence interval takes the pairs as independent and their mean as close to normal; the "
        "p-value does not use it.",
    )


def _lower_bound(found: Moments, alpha: float) -> Interval:
    low = found.mean - _quantile(found.n, alpha) * found.deviation / math.sqrt(found.n)
    return Interval(min(max(low, -1.0), 1.0), 1.0, 1 - alpha, 1)


def _quantile(n: int, alpha: float) -> float:
    """Return t_{1-alpha}, the (1 - alpha)-quantile of t with n - 1 degrees of freedom."""
    return -float(special.stdtrit(n - 1, alpha))
