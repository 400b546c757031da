"""A verdict: what was tested, what was assumed, and what was found; for people and as JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from cfmark.errors import ConfigError
from cfmark.verification.checks import between, count, number, share


class Interval(NamedTuple):
    """A confidence interval for the mean difference.

    Attributes
    ----------
    low, high
        Its ends. A one-sided interval limits from below only: ``high`` is 1, the largest difference there is.
    level
        The share of such intervals that contain the true mean.
    sides
        1 or 2.
    """

    low: float
    high: float
    level: float
    sides: int


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The outcome of one test of one suspect.

    Attributes
    ----------
    test
        Its name: ``t``, ``calibrated``.
    null
        The hypothesis that the p-value speaks of, as a sentence.
    statistic
        What was compared with its law under the hypothesis; None where it is not defined.
    p_value
        The probability, under the hypothesis, of a result at least as strong as this one, or a bound on it.
    effect
        The mean difference between the suspect's probabilities at issued points and at their counterparts.
    interval
        Where the true mean difference may lie.
    n
        How many pairs were asked about.
    tau
        The margin that the mean difference was compared with; None for a test without one.
    alpha
        The level: the largest probability of accusing a suspect for whom the hypothesis holds.
    assumptions
        Sentences, all of which must be true for the p-value to mean what it says.
    details
        Whatever else a test reports; JSON types only.
    flagged
        Whether ``p_value <= alpha``. This is the rule for every test here: it is the one that keeps the level
        and lets a rank among few samples reach it. (The paper asks for p < .05; for the continuous p-value
        of a t-test the two differ with probability zero.)
    """

    test: str
    null: str
    statistic: float | None
    p_value: float
    effect: float
    interval: Interval
    n: int
    tau: float | None
    alpha: float
    assumptions: tuple[str, ...]
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    flagged: bool = field(init=False)

    def __post_init__(self) -> None:
        p_value, alpha = between("p_value", self.p_value, 0, 1), share("alpha", self.alpha)
        checked = {
            "test": _text("test", self.test),
            "null": _text("null", self.null),
            "statistic": None if self.statistic is None else number("statistic", self.statistic),
            "p_value": p_value,
            "effect": between("effect", self.effect, -1, 1),
            "interval": _interval(self.interval),
            "n": count("n", self.n, 1),
            "tau": None if self.tau is None else number("tau", self.tau),
            "alpha": alpha,
            "assumptions": _sentences(self.assumptions),
            "details": _plain(self.details),
            "flagged": p_value <= alpha,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return (
            f"{self.test}: {'flagged' if self.flagged else 'not flagged'} (p = {self.p_value:.4g}, "
            f"alpha {self.alpha:g}), mean difference {self.effect:.4g} "
            f"[{self.interval.low:.4g}, {self.interval.high:.4g}], n = {self.n}"
        )

    def in_words(self) -> str:
        """Say what was tested, found and assumed, in sentences for readers who are no statisticians."""
        sentences = [
            f"Test {self.test!r} at level {self.alpha:g}, on {self.n} pairs of points.",
            f"Hypothesis: {self.null}",
            f"Found: the suspect gives the issued points a probability of their class that is on average "
            f"{abs(self.effect):.4g} {'lower' if self.effect < 0 else 'higher'} than at their counterparts; "
            f"{_interval_words(self.interval)}.",
            _p_value_words(self),
            _conclusion(self),
            "Assumed:",
        ]
        listed = [f"{i}. {sentence}" for i, sentence in enumerate(self.assumptions, 1)]
        return "\n".join(sentences + (listed or ["nothing further."]))

    def to_json(self) -> str:
        """Return the verdict as JSON text; every float is exact."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["interval"] = self.interval._asdict()
        return json.dumps(values, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Verdict":
        """Read what ``to_json`` wrote; anything missing, unknown or contradictory is a ConfigError."""
        values = _named("verdict", _parsed(text), [f.name for f in fields(cls)])
        values["interval"] = Interval(**_named("interval", values["interval"], Interval._fields))
        flagged = values.pop("flagged")
        verdict = cls(**values)
        if flagged is not verdict.flagged:
            raise ConfigError(
                f"verdict: flagged is {flagged!r}, but p_value {verdict.p_value} and alpha {verdict.alpha} "
                f"make it {verdict.flagged}"
            )
        return verdict


def _p_value_words(verdict: Verdict) -> str:
    if verdict.statistic is None:
        return (
            f"P-value: {verdict.p_value:g}, by a convention stated among the assumptions, because these "
            "answers leave the test without a statistic."
        )
    value = f"{verdict.p_value:.4g}" if verdict.p_value > 1e-300 else "below 1e-300"
    return (
        f"P-value: {value}. It is the probability, or a bound on it, of a result that speaks against the "
        "hypothesis at least as strongly as this one does, computed as if the hypothesis and the assumptions "
        "below were true. It is not the probability that the suspect is innocent."
    )


def _conclusion(verdict: Verdict) -> str:
    if verdict.flagged:
        return (
            f"Conclusion: the p-value is not above {verdict.alpha:g}, so the hypothesis is rejected and the "
            f"suspect is flagged. Were the hypothesis true, this would happen in a share of at most "
            f"{verdict.alpha:.4g} of such tests."
        )
    return (
        f"Conclusion: the p-value is above {verdict.alpha:g}, so the hypothesis is not rejected and the "
        "suspect is not flagged. This is no proof of innocence: these pairs do not suffice to tell."
    )


def _interval_words(interval: Interval) -> str:
    level = f"{100 * interval.level:.6g} % confidence"
    if interval.sides == 1:
        return f"with {level} (one-sided) the mean difference is at least {interval.low:.4g}"
    return (
        f"with {level} (two-sided) the mean difference is between {interval.low:.4g} and {interval.high:.4g}"
    )


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"verdict: {name} is {value!r}; a text is needed")
    return value


def _sentences(values: object) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise ConfigError(f"verdict: assumptions are {values!r}; a list of sentences is needed")
    return tuple(_text("an assumption", value) for value in values)


def _interval(value: object) -> Interval:
    if not isinstance(value, tuple) or len(value) != 4:
        raise ConfigError(f"verdict: interval is {value!r}; low, high, level and sides are needed")
    low, high = (
        between(f"the interval's {name}", end, -1, 1)
        for name, end in zip(("low", "high"), value, strict=False)
    )
    sides = count("the interval's sides", value[3], 1)
    if low > high or sides > 2:
        raise ConfigError(f"verdict: interval {value!r} is upside down, or has more than two sides")
    return Interval(low, high, share("the interval's level", value[2]), sides)


def _plain(details: object) -> dict[str, Any]:
    if not isinstance(details, Mapping):
        raise ConfigError(f"verdict: details are {details!r}; a mapping is needed")
    try:
        text = json.dumps(dict(details), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ConfigError(f"verdict: details do not fit into JSON: {problem}") from problem
    plain: dict[str, Any] = _parsed(text)
    return plain


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refused, object_pairs_hook=_once)
    except (TypeError, ValueError, RecursionError) as problem:
        raise ConfigError(f"verdict: not readable as JSON: {problem}") from problem


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError(f"a field is there twice among {sorted(name for name, _ in pairs)}")
    return values


def _named(what: str, values: Any, names: Any) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise ConfigError(f"{what} is {values!r}; fields are needed: {', '.join(names)}")
    unknown, missing = sorted(set(values) - set(names)), sorted(set(names) - set(values))
    if unknown or missing:
        raise ConfigError(f"{what}: unknown fields {unknown}, missing fields {missing}")
    return values
