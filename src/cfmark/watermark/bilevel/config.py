"""The knobs of Algorithm 1, and which of them shape the compiled program."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from cfmark.errors import ConfigError
from cfmark.models import mlp
from cfmark.watermark.bilevel.losses import Form


@dataclass(frozen=True)
class BilevelConfig:
    """The knobs of Algorithm 1.

    Attributes
    ----------
    steps, unroll
        Outer steps T, and Adam steps K of the ensembles in each.
    delta, step_size
        The bound of theta in every column, and its sign step (2.5 delta / T by default).
    poison, validity, regularisation
        The weights lambda 1 to 3 of Eq. 4.
    poison_form, validity_form
        ``log``, ``kl`` or ``residual``.
    ensemble, hidden, learning_rate
        Networks in each ensemble, their layers, and Adam's rate.
    batch_size
        Counterfactuals that are marked together.
    background
        Train rows D^t in each batch; 0 switches the augmentation off.
    start
        ``zero``, or ``uniform`` in the ball.
    proximity
        No marked counterfactual is farther from its query, in L1, than (1 + proximity) times the unmarked;
        None for no limit. Rounding to served values comes after it.
    """

    steps: int = 50
    unroll: int = 10
    delta: float = 0.05
    step_size: float | None = None
    poison: float = 2.0
    validity: float = 1.0
    regularisation: float = 1.0
    poison_form: Form = "log"
    validity_form: Form = "kl"
    ensemble: int = 8
    hidden: tuple[int, ...] = (64, 32, 16)
    learning_rate: float = 0.01
    batch_size: int = 64
    background: int = 64
    start: Literal["zero", "uniform"] = "zero"
    proximity: float | None = None

    def __post_init__(self) -> None:
        if min(self.steps, self.unroll, self.ensemble, self.batch_size) < 1 or self.background < 0:
            raise ConfigError(
                "steps, unroll, ensemble and batch_size must be at least 1, background not negative"
            )
        if not self.hidden or min(self.hidden) < 1:
            raise ConfigError(f"hidden = {self.hidden}: at least one layer of at least one unit")
        if not 0 < self.delta <= 1 or (self.step_size is not None and not self.step_size > 0):
            raise ConfigError("delta must be above 0 and at most 1, step_size above 0")
        weights = self.poison, self.validity, self.regularisation
        if not all(weight >= 0 for weight in weights) or not self.learning_rate > 0:
            raise ConfigError("the three weights must not be negative, learning_rate must be above 0")
        if self.proximity is not None and not self.proximity >= 0:
            raise ConfigError("proximity must not be negative; None is no limit")
        for form in (self.poison_form, self.validity_form):
            if form not in get_args(Form):
                raise ConfigError(f"form {form!r} is not one of {', '.join(get_args(Form))}")
        if self.start not in ("zero", "uniform"):
            raise ConfigError(f"start {self.start!r} is neither zero nor uniform")

    @property
    def sign_step(self) -> float:
        """The sign step: Madry's 2.5 delta / T, unless given."""
        return self.step_size if self.step_size is not None else 2.5 * self.delta / self.steps


class Plan(NamedTuple):
    """What shapes the compiled program: networks (units of every layer), counts, forms and the start."""

    sizes: tuple[int, ...]
    ensemble: int
    steps: int
    unroll: int
    poison_form: Form
    validity_form: Form
    start: str


class Knobs(NamedTuple):
    """Numbers that may change without compiling again; ``proximity`` is None for no limit."""

    delta: float
    sign_step: float
    poison: float
    validity: float
    regularisation: float
    learning_rate: float
    proximity: float | None


def split(config: BilevelConfig, width: int) -> tuple[Plan, Knobs]:
    """Return the two halves of a configuration, for ``width`` encoded columns."""
    forms = config.poison_form, config.validity_form
    sizes = (width, *config.hidden, mlp.CLASSES)
    plan = Plan(sizes, config.ensemble, config.steps, config.unroll, *forms, config.start)
    weights = config.poison, config.validity, config.regularisation
    return plan, Knobs(config.delta, config.sign_step, *weights, config.learning_rate, config.proximity)
