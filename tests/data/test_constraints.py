from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cfmark.data import Encoder, Feature, Layout, Schema, movable, project, rules_of
from strategies import candidates, schemas, table_of

ROWS = 32
SEEDS = st.integers(0, 2**32 - 1)


def array(*rows: list[float]) -> NDArray[np.float32]:
    return np.array(rows, np.float32)


@lru_cache
def compiled(layout: Layout) -> tuple[Any, Any]:
    projecting = jax.jit(jax.vmap(lambda rules, x, c: project(rules, layout, x, c), (None, 0, 0)))
    return projecting, jax.jit(jax.vmap(lambda rules, x: movable(rules, layout, x), (None, 0)))


def projected(schema: Schema, x: NDArray[np.float32], c: NDArray[np.float32]) -> NDArray[np.float32]:
    rules, layout = rules_of(Encoder(schema))
    return np.asarray(compiled(layout)[0](rules, jnp.asarray(x), jnp.asarray(c)))


def may_move(schema: Schema, x: NDArray[np.float32]) -> NDArray[np.bool_]:
    rules, layout = rules_of(Encoder(schema))
    return np.asarray(compiled(layout)[1](rules, jnp.asarray(x)))


@settings(max_examples=40)
@given(schema=schemas(most=4), seed=SEEDS)
def test_what_is_projected_may_be_served(schema: Schema, seed: int) -> None:
    encoder = Encoder(schema)
    table = table_of(schema, ROWS, seed)
    x = encoder.encode(table)
    served = projected(schema, x, candidates(encoder.width, ROWS, seed, x))
    back = encoder.decode(served)
    assert encoder.encode(back).tobytes() == served.tobytes()
    for feature in schema.features:
        before, after = table[feature.name].to_numpy(), back[feature.name].to_numpy()
        if feature.immutable:
            assert before.tolist() == after.tolist()
        if not feature.is_number:
            before, after = (np.array([feature.categories.index(v) for v in c]) for c in (before, after))
        coded = np.isin(before, feature.special)
        if feature.special_fixed:
            assert (after[coded] == before[coded]).all()
        assert (after[np.isin(after, feature.special)] == before[np.isin(after, feature.special)]).all()
        if feature.direction == "up":
            assert (after[~coded] >= before[~coded]).all()
        if feature.direction == "down":
            assert (after[~coded] <= before[~coded]).all()
    for start, stop in encoder.groups:
        assert set(np.unique(served[:, start:stop])) <= {0, 1}
        assert (served[:, start:stop].sum(axis=1) == 1).all()


@settings(max_examples=25)
@given(schema=schemas(most=4), seed=SEEDS)
def test_projecting_twice_or_the_query_itself_changes_nothing(schema: Schema, seed: int) -> None:
    encoder = Encoder(schema)
    x = encoder.encode(table_of(schema, ROWS, seed))
    assert projected(schema, x, x).tobytes() == x.tobytes()
    once = projected(schema, x, candidates(encoder.width, ROWS, seed, x))
    assert projected(schema, x, once).tobytes() == once.tobytes()


@settings(max_examples=25)
@given(schema=schemas(most=4), seed=SEEDS)
def test_nothing_that_may_be_served_is_nearer(schema: Schema, seed: int) -> None:
    """Scalar columns: against every other row's value of the column that is allowed for the query."""
    encoder = Encoder(schema)
    x = encoder.encode(table_of(schema, ROWS, seed))
    c = candidates(encoder.width, ROWS, seed, x)
    served = projected(schema, x, c)
    for other in np.roll(x, 1, axis=0), np.roll(x, 7, axis=0):
        allowed = projected(schema, x, other) == other
        scalars = np.arange(encoder.width) < len(encoder.scalars)
        inside = np.clip(c.astype(float), 0, 1)
        gap = np.abs(served - inside) - np.abs(other - inside)
        assert (gap[allowed & scalars] <= 1e-6).all()


@settings(max_examples=25)
@given(schema=schemas(most=4), seed=SEEDS)
def test_movable_is_where_some_candidate_moves_a_column(schema: Schema, seed: int) -> None:
    encoder = Encoder(schema)
    x = encoder.encode(table_of(schema, ROWS, seed))
    mask = may_move(schema, x)
    moved = np.zeros_like(mask)
    tries = [np.full_like(x, value) for value in (-1e9, 0, 0.5, 1, 1e9)]
    tries += [candidates(encoder.width, ROWS, seed, x)]
    for column in range(encoder.width):
        hot = np.zeros_like(x)
        hot[:, column] = 1
        tries += [hot, x + hot, x - hot]
    for c in tries:
        moved |= projected(schema, x, c) != x
    np.testing.assert_array_equal(moved, mask)


def one(**attributes: object) -> Schema:
    return Schema((Feature("n", "integer", 0, 10, 1, **attributes),), "label")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "query", "candidate", "expected"),
    [
        (one(), 3, 0.68, 7),
        (one(), 3, -1e9, 0),
        (one(), 3, 1e9, 10),
        (one(immutable=True), 3, 0.9, 3),
        (one(direction="up"), 3, 0.0, 3),
        (one(direction="up"), 3, 0.9, 9),
        (one(direction="down"), 3, 0.9, 3),
        (one(direction="down"), 3, 0.1, 1),
        (one(special=(-10.0,)), 5, 0.0, 0),
        (one(special=(-10.0,)), -10, 0.2, -10),
        (one(special=(-10.0,)), -10, 0.3, 0),
        (one(special=(-10.0,)), -10, 1e9, 10),
        (one(special=(-10.0,), special_fixed=True), -10, 0.9, -10),
        (one(special=(-10.0, -9.0)), -10, 0.05, -10),
        (one(special=(-10.0,), direction="down"), -10, 0.8, 6),
    ],
)
def test_single_columns(schema: Schema, query: int, candidate: float, expected: int) -> None:
    encoder = Encoder(schema)
    x = encoder.encode(pd.DataFrame({"n": [query]}))
    assert encoder.decode(projected(schema, x, array([candidate])))["n"].tolist() == [expected]


def test_a_tie_between_categories_keeps_the_querys_own() -> None:
    schema = Schema((Feature("c", "categorical", categories=("a", "b", "c")),), "label")
    x = array([0, 1, 0], [0, 0, 1])
    assert projected(schema, x, np.full_like(x, 0.3)).tolist() == x.tolist()
    assert projected(schema, x, array([0.5, 0.4, 0], [0, 0.9, 0.8])).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_layout_is_static_and_shared_by_schemas_of_one_shape() -> None:
    first, second = (
        Encoder(Schema((Feature("a", low=0, high=high, precision=1),), "label")) for high in (3, 9)
    )
    assert rules_of(first)[1] == rules_of(second)[1]
    assert hash(rules_of(first)[1]) == hash(rules_of(second)[1])
