"""Feature and Schema: what a column is, what it may hold, and how it may move."""

from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite
from typing import Literal, get_args

from cfmark.errors import SchemaError

Kind = Literal["continuous", "integer", "ordinal", "categorical"]
Direction = Literal["any", "up", "down"]
Value = str | int | float

#: The finest grid that a float32 in [0, 1] holds exactly, with room for one rounding.
MAX_STEPS = 2**21
#: Numbers of this size and more are refused: one of them would flatten its whole column.
MAX_VALUE = 1e9


#: Digits behind the point that a bound or a precision may have.
MAX_DECIMALS = 9
#: Below this many units of the last decimal, float64 sums and roundings return the number that was written.
MAX_SCALED = 2.0**48


def spelling(value: object) -> str:
    """Spell 1, 1.0, "1" and "1.0" alike: a table and its schema rarely agree on it.

    >>> spelling(1), spelling("1.0"), spelling("0.50"), spelling(" yes ")
    ('1', '1', '0.5', 'yes')
    """
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    if not isfinite(number):
        return text
    return str(int(number)) if number == int(number) else repr(number)


@dataclass(frozen=True)
class Feature:
    """One column of a table.

    Attributes
    ----------
    name
        The column's name in the table.
    kind
        ``continuous`` and ``integer`` are numbers between ``low`` and ``high``; ``ordinal`` and
        ``categorical`` take one of ``categories`` (in their order, if ordinal).
    low, high
        The smallest and the largest value.
    precision
        The step between served values: 1 for whole numbers, 0.01 for cents.
    categories
        The values of an ordinal or categorical column, as they stand in the table.
    immutable
        The value never changes in a counterfactual.
    direction
        ``up``: may only rise; ``down``: may only fall.
    special
        Codes outside ``low``..``high`` that stand for "no value". A number never becomes a code; a
        code may become a number unless ``special_fixed``.
    special_fixed
        A row that holds a code keeps it.
    unit, note
        For people: "months", "logarithm of dollars"; a sentence about the column.
    """

    name: str
    kind: Kind = "continuous"
    low: float = 0.0
    high: float = 1.0
    precision: float = 0.001
    categories: tuple[Value, ...] = ()
    immutable: bool = False
    direction: Direction = "any"
    special: tuple[float, ...] = ()
    special_fixed: bool = False
    unit: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise SchemaError(f"{self.name}: kind {self.kind!r} is not one of {', '.join(get_args(Kind))}")
        if self.direction not in get_args(Direction):
            raise SchemaError(
                f"{self.name}: direction {self.direction!r} is not one of {', '.join(get_args(Direction))}"
            )
        if self.is_number:
            self._check_number()
        else:
            self._check_categories()

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers (rather than one of a list of values)."""
        return self.kind in ("continuous", "integer")

    @property
    def lowest(self) -> float:
        """The smallest number in the column, special codes included."""
        return min(self.low, *self.special) if self.special else self.low

    @property
    def highest(self) -> float:
        """The largest number in the column, special codes included."""
        return max(self.high, *self.special) if self.special else self.high

    @property
    def steps(self) -> int:
        """How many steps of the grid lie between the smallest and the largest value."""
        if self.is_number:
            return round((self.highest - self.lowest) / self.precision)
        return len(self.categories) - 1

    @property
    def decimals(self) -> int:
        """Digits behind the point of a served value."""
        written = (_decimal(number) for number in (self.precision, self.lowest))
        return max(0, *(-int(number.normalize().as_tuple().exponent) for number in written))

    @property
    def width(self) -> int:
        """How many encoded columns the feature takes."""
        return len(self.categories) if self.kind == "categorical" else 1

    def _check_number(self) -> None:
        numbers = (self.low, self.high, self.precision, *self.special)
        if self.categories:
            raise SchemaError(f"{self.name}: categories belong to ordinal and categorical columns")
        if not all(isfinite(number) for number in numbers):
            raise SchemaError(f"{self.name}: low, high, precision and special codes must be finite numbers")
        if not self.low < self.high:
            raise SchemaError(f"{self.name}: low {self.low:g} is not below high {self.high:g}")
        if max(abs(self.lowest), abs(self.highest)) >= MAX_VALUE:
            raise SchemaError(
                f"{self.name}: bounds must be below {MAX_VALUE:g} in size; store the column in larger units"
            )
        if not self.precision > 0:
            raise SchemaError(f"{self.name}: precision {self.precision:g} must be above 0")
        if self.kind == "integer" and any(number % 1 for number in numbers):
            raise SchemaError(
                f"{self.name}: the bounds and the precision of an integer column are whole numbers"
            )
        self._check_grid()
        for code in self.special:
            if self.low <= code <= self.high:
                raise SchemaError(
                    f"{self.name}: special code {code:g} lies inside {self.low:g}..{self.high:g}"
                )

    def _check_grid(self) -> None:
        if self.decimals > MAX_DECIMALS:
            raise SchemaError(f"{self.name}: write bounds and precision with at most {MAX_DECIMALS} decimals")
        if self.steps > MAX_STEPS:
            raise SchemaError(
                f"{self.name}: {self.lowest:g}..{self.highest:g} in steps of {self.precision:g} are "
                f"{self.steps:,} values, at most {MAX_STEPS:,} can be told apart; choose a coarser precision"
            )
        if max(abs(self.lowest), abs(self.highest)) * 10.0**self.decimals > MAX_SCALED:
            raise SchemaError(
                f"{self.name}: numbers as large as {self.highest:g} cannot be told apart in steps of "
                f"{self.precision:g}; choose a coarser precision"
            )
        for value in (self.low, self.high, *self.special):
            if (_decimal(value) - _decimal(self.lowest)) % _decimal(self.precision):
                raise SchemaError(
                    f"{self.name}: {value:g} is not a whole number of steps of {self.precision:g} "
                    f"above {self.lowest:g}"
                )

    def _check_categories(self) -> None:
        if len(self.categories) < 2:
            raise SchemaError(f"{self.name}: a column of kind {self.kind} needs at least two categories")
        if any(isinstance(category, bool) for category in self.categories):
            raise SchemaError(f'{self.name}: write the categories as text: ["True", "False"]')
        if len(set(map(spelling, self.categories))) != len(self.categories):
            raise SchemaError(f"{self.name}: a category is named twice")
        if self.special:
            raise SchemaError(f"{self.name}: special codes belong to numbers; make the code a category")
        if self.kind == "categorical" and self.direction != "any":
            raise SchemaError(f"{self.name}: categories have no order, so no direction; use kind 'ordinal'")


def _decimal(number: float) -> Decimal:
    """Return the number as a person wrote it: 0.1 is one tenth."""
    return Decimal(str(float(number)))


@dataclass(frozen=True)
class Schema:
    """The columns of a table, its label, and how a row may change.

    Attributes
    ----------
    features
        The columns that the model sees, in the table's order.
    target
        The label's column.
    labels
        The label's two values: the one that is class 0, then the one that is class 1.
    drop
        Columns that are in the file and are ignored.
    """

    features: tuple[Feature, ...]
    target: str
    labels: tuple[Value, Value] = (0, 1)
    drop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = self.names
        if not names:
            raise SchemaError("the schema has no features")
        for name, count in Counter(names).items():
            if count > 1:
                raise SchemaError(f"{name}: the feature is named twice")
        if self.target in names:
            raise SchemaError(f"{self.target}: the target cannot be a feature too")
        if len(self.labels) != 2 or spelling(self.labels[0]) == spelling(self.labels[1]):
            raise SchemaError(f"{self.target}: labels must be two different values, class 0 first")

    @property
    def names(self) -> list[str]:
        """The features' names, in order."""
        return [feature.name for feature in self.features]

    def __getitem__(self, name: str) -> Feature:
        for feature in self.features:
            if feature.name == name:
                return feature
        raise SchemaError(f"there is no feature {name!r}; the schema has {', '.join(self.names)}")

    def with_changes(self, changes: dict[str, dict[str, object]]) -> "Schema":
        """Return a copy in which the named features have other attributes."""
        for name in changes:
            self[name]
        features = tuple(replace(f, **changes.get(f.name, {})) for f in self.features)  # type: ignore[arg-type]
        return replace(self, features=features)
