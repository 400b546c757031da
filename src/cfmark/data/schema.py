"""Feature and Schema: what a column is, what it may hold, and how it may move."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from cfmark.errors import SchemaError

Kind = Literal["continuous", "integer", "ordinal", "categorical"]
Direction = Literal["any", "up", "down"]
Value = str | int | float

#: The finest grid that a float32 in [0, 1] holds exactly, with room for one rounding.
MAX_STEPS = 2**21
#: Numbers of this size and more are refused: one of them would flatten its whole column.
MAX_VALUE = 1e9


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
        text = f"{self.precision:.9f}".rstrip("0")
        return len(text.partition(".")[2])

    @property
    def width(self) -> int:
        """How many encoded columns the feature takes."""
        return len(self.categories) if self.kind == "categorical" else 1

    def _check_number(self) -> None:
        if self.categories:
            raise SchemaError(f"{self.name}: categories belong to ordinal and categorical columns")
        if not self.low < self.high:
            raise SchemaError(f"{self.name}: low {self.low:g} is not below high {self.high:g}")
        if max(abs(self.lowest), abs(self.highest)) >= MAX_VALUE:
            raise SchemaError(
                f"{self.name}: bounds must be below {MAX_VALUE:g} in size; store the column in larger units"
            )
        if not self.precision >= 1e-9:
            raise SchemaError(f"{self.name}: precision {self.precision:g} must be at least 1e-9")
        if self.kind == "integer" and self.precision % 1:
            raise SchemaError(f"{self.name}: the precision of an integer column is a whole number")
        if self.steps > MAX_STEPS:
            raise SchemaError(
                f"{self.name}: {self.low:g}..{self.high:g} in steps of {self.precision:g} are {self.steps:,}"
                f" values, at most {MAX_STEPS:,} can be told apart; choose a coarser precision"
            )
        for value in (self.low, self.high, *self.special):
            ratio = (value - self.lowest) / self.precision
            if abs(ratio - round(ratio)) > 1e-4:
                raise SchemaError(
                    f"{self.name}: {value:g} is not a whole number of steps of {self.precision:g} "
                    f"above {self.lowest:g}"
                )
        for code in self.special:
            if self.low <= code <= self.high:
                raise SchemaError(f"{self.name}: special code {code:g} lies inside {self.low:g}..{self.high:g}")

    def _check_categories(self) -> None:
        if len(self.categories) < 2:
            raise SchemaError(f"{self.name}: a column of kind {self.kind} needs at least two categories")
        if len(set(map(str, self.categories))) != len(self.categories):
            raise SchemaError(f"{self.name}: a category is named twice")
        if self.special:
            raise SchemaError(f"{self.name}: special codes belong to numbers; make the code a category")
        if self.kind == "categorical" and self.direction != "any":
            raise SchemaError(f"{self.name}: categories have no order, so no direction; use kind 'ordinal'")


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
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"{name}: the feature is named twice")
        if self.target in names:
            raise SchemaError(f"{self.target}: the target cannot be a feature too")
        if len(self.labels) != 2 or str(self.labels[0]) == str(self.labels[1]):
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
