"""The written-out gradient, its derivative, and the way back through the unrolled steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cfmark.models import mlp
from cfmark.watermark.bilevel import thief
from cfmark.watermark.bilevel.gradient import Rows, answers, loss_gradient, pack, unpack

SIZES = (3, 8, 5, 2)
ROWS = 12


def problem(seed: int = 0, dead_column: bool = False) -> tuple[jax.Array, Rows]:
    keys = jax.random.split(jax.random.key(seed), 4)
    flat = pack(mlp.init(keys[0], SIZES[0], SIZES[1:-1]))
    flat = flat + 0.1 * jax.random.normal(keys[1], flat.shape)
    x = jax.random.uniform(keys[2], (SIZES[0], ROWS))
    x = x.at[0].set(0.0) if dead_column else x
    y = jax.nn.softmax(jax.random.normal(keys[3], (2, ROWS)), axis=0)
    weight = jnp.where(jnp.arange(ROWS) < ROWS - 2, 1 / (ROWS - 2), 0.0)
    return flat, Rows(x, y, weight)


def loss(flat: jax.Array, rows: Rows) -> jax.Array:
    """The cross-entropy as the house's own networks compute it."""
    logits = mlp.logits(unpack(flat, SIZES), rows.x.T)
    return -(rows.weight[:, None] * rows.y.T * jax.nn.log_softmax(logits)).sum()


def test_packing_there_and_back() -> None:
    flat, rows = problem()
    assert bool((pack(unpack(flat, SIZES)) == flat).all())
    expected = jax.nn.log_softmax(mlp.logits(unpack(flat, SIZES), rows.x.T)).T
    np.testing.assert_allclose(answers(SIZES, flat, rows.x), expected, atol=1e-6)


def test_the_gradient_is_that_of_autodiff() -> None:
    flat, rows = problem()
    np.testing.assert_allclose(loss_gradient(SIZES, flat, rows), jax.grad(loss)(flat, rows), atol=1e-6)


def test_its_derivative_is_that_of_autodiff() -> None:
    flat, rows = problem()
    v = jax.random.normal(jax.random.key(9), flat.shape)

    def along(gradient: jax.Array) -> jax.Array:
        return (v * gradient).sum()

    def labels(y_1: jax.Array) -> jax.Array:
        """Labels that sum to 1: the derivative by them is along such labels only."""
        return jnp.stack([1 - y_1, y_1])

    def ours(flat: jax.Array, x: jax.Array, y_1: jax.Array) -> jax.Array:
        return along(loss_gradient(SIZES, flat, Rows(x, labels(y_1), rows.weight)))

    def theirs(flat: jax.Array, x: jax.Array, y_1: jax.Array) -> jax.Array:
        return along(jax.grad(loss)(flat, Rows(x, labels(y_1), rows.weight)))

    at = flat, rows.x, rows.y[1]
    for mine, other in zip(jax.grad(ours, (0, 1, 2))(*at), jax.grad(theirs, (0, 1, 2))(*at), strict=True):
        assert float(jnp.abs(other).max()) > 1e-3
        np.testing.assert_allclose(mine, other, atol=2e-5)


@pytest.mark.parametrize("steps", [2, 3, 7])
def test_the_way_back_through_adam_steps_is_that_of_differences(steps: int) -> None:
    """A gradient that is cut anywhere in the steps is not that of differences (one step is all sign)."""
    _, rows = problem()
    member = jax.tree.map(lambda leaf: leaf[0], thief.start(jax.random.key(3), 1, SIZES))

    def after(x: jax.Array) -> jax.Array:
        trained = thief.unroll(member, rows._replace(x=x), SIZES, steps, 0.05)
        return answers(SIZES, trained.network, jnp.full((SIZES[0], 1), 0.4))[1, 0]

    with jax.enable_x64(True):
        member = jax.tree.map(lambda leaf: leaf.astype(jnp.float64) if leaf.ndim else leaf, member)
        rows = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), rows)
        slope = jax.jit(jax.grad(after))(rows.x)
        direction = jax.random.normal(jax.random.key(5), rows.x.shape, jnp.float64)
        size = 1e-6
        value = jax.jit(after)
        difference = float(value(rows.x + size * direction) - value(rows.x - size * direction)) / (2 * size)
        along = float((slope * direction).sum())
    assert abs(difference) > 1e-3
    np.testing.assert_allclose(along, difference, rtol=1e-3)


def test_a_column_of_zeros_leaves_the_gradient_finite() -> None:
    _, rows = problem(dead_column=True)
    member = jax.tree.map(lambda leaf: leaf[0], thief.start(jax.random.key(3), 1, SIZES))

    def after(x: jax.Array) -> jax.Array:
        return thief.unroll(member, rows._replace(x=x), SIZES, 4, 0.05).network.sum()

    assert bool(jnp.isfinite(jax.grad(after)(rows.x)).all())


def test_the_unrolled_steps_are_adam() -> None:
    """One step from fresh moments moves every weight by the rate, against its gradient's sign."""
    _, rows = problem()
    member = jax.tree.map(lambda leaf: leaf[0], thief.start(jax.random.key(3), 1, SIZES))
    gradient = jax.grad(loss)(member.network, rows)
    moved = thief.unroll(member, rows, SIZES, 1, 0.01).network - member.network
    far = jnp.abs(gradient) > 1e-3
    np.testing.assert_allclose(moved[far], -0.01 * jnp.sign(gradient)[far], rtol=1e-3)
    assert not np.isclose(thief.unroll(member, rows, SIZES, 2, 0.01).network, member.network + moved).all()
