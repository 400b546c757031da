"""Random schemas, tables that fit them, and any array at all, for property tests."""

from decimal import Decimal

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from numpy.typing import NDArray

from cfmark.data import Feature, Schema
from cfmark.data.schema import MAX_SCALED, MAX_STEPS, MAX_VALUE

_PRECISIONS = [Decimal(text) for text in ("1", "10", "0.5", "0.25", "0.1", "0.01", "0.003", "0.0001", "1e-6")]


@st.composite
def numbers(draw: st.DrawFn, name: str = "number") -> Feature:
    """Draw a numeric feature: any precision, a few special codes on either side of the range."""
    whole = draw(st.booleans())
    precision = draw(st.sampled_from([p for p in _PRECISIONS if p % 1 == 0 or not whole]))
    steps = draw(st.integers(1, 50) | st.integers(1, MAX_STEPS) | st.just(MAX_STEPS))
    below = draw(st.lists(st.integers(1, 9), max_size=3, unique=True)) if steps < MAX_STEPS - 30 else []
    above = draw(st.lists(st.integers(1, 9), max_size=2, unique=True)) if steps < MAX_STEPS - 30 else []
    room = int(min(Decimal(MAX_VALUE) - 1, Decimal(MAX_SCALED) / 10**7) / precision) - MAX_STEPS - 20
    start = draw(st.integers(-100, 100) | st.integers(-room, room))
    shift = Decimal(0) if whole else draw(st.sampled_from([Decimal(0), Decimal("0.125"), Decimal("0.0007")]))

    def at(place: int) -> float:
        return float(shift + (start + place) * precision)

    return Feature(
        name,
        "integer" if whole else "continuous",
        low=at(0),
        high=at(steps),
        precision=float(precision),
        immutable=draw(st.integers(0, 4)) == 0,
        direction=draw(st.sampled_from(["any", "up", "down"])),
        special=tuple([at(-place) for place in below] + [at(steps + place) for place in above]),
        special_fixed=draw(st.booleans()),
    )


@st.composite
def choices(draw: st.DrawFn, name: str = "choice") -> Feature:
    """Draw an ordinal or categorical feature, of numbers or of texts."""
    kind = draw(st.sampled_from(["ordinal", "categorical"]))
    count = draw(st.integers(2, 6))
    values: tuple[str | int | float, ...] = tuple(range(-2, count - 2))
    if draw(st.booleans()):
        values = tuple(f"value {value}" for value in values)
    direction = draw(st.sampled_from(["any", "up", "down"])) if kind == "ordinal" else "any"
    return Feature(name, kind, categories=values, immutable=draw(st.integers(0, 4)) == 0, direction=direction)


@st.composite
def schemas(draw: st.DrawFn, most: int = 6) -> Schema:
    """Draw a schema of every kind of feature, in any order."""
    makers = draw(st.lists(st.sampled_from([numbers, choices]), min_size=1, max_size=most))
    return Schema(tuple(draw(make(f"f{j}")) for j, make in enumerate(makers)), target="label")


def table_of(schema: Schema, rows: int, seed: int) -> pd.DataFrame:
    """Make a table of values on the schema's grid; bounds and special codes come often."""
    random = np.random.default_rng(seed)
    return pd.DataFrame({f.name: _column(f, rows, random) for f in schema.features})


def candidates(width: int, rows: int, seed: int, near: NDArray[np.float32]) -> NDArray[np.float32]:
    """Make arrays that a search might come up with: near a row, inside, just or far outside."""
    random = np.random.default_rng(seed)
    forms = [
        random.uniform(0, 1, (rows, width)),
        random.uniform(-0.5, 1.5, (rows, width)),
        near + random.normal(0, 0.05, (rows, width)),
        near + 0 * random.normal(size=(rows, width)),
        random.choice([-1e9, -1.0, 0.0, 0.5, 1.0, 1e9], (rows, width)),
    ]
    form = random.integers(0, len(forms), (rows, width))
    return np.choose(form, forms).astype(np.float32)


def _column(feature: Feature, rows: int, random: np.random.Generator) -> list[object]:
    if not feature.is_number:
        return [feature.categories[place] for place in random.integers(0, len(feature.categories), rows)]
    precision, low = Decimal(str(feature.precision)), Decimal(str(feature.low))
    steps = round((feature.high - feature.low) / feature.precision)
    places = np.where(
        random.random(rows) < 0.3, random.choice([0, steps], rows), random.integers(0, steps + 1, rows)
    )
    values = [float(low + int(place) * precision) for place in places]
    if feature.special:
        coded = random.random(rows) < 0.3
        values = [random.choice(feature.special) if c else v for c, v in zip(coded, values, strict=True)]
    return [int(value) if feature.kind == "integer" else float(value) for value in values]
