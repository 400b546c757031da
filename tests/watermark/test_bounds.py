"""The projection of theta: nearest, and within every bound, for any schema."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings

import strategies
from cfmark.data import Encoder, Schema, rules_of
from cfmark.watermark.bilevel.bounds import Bounds, bounds_of, inside
from cfmark.watermark.guard import serve

ROWS = 12


@given(strategies.schemas(), st.integers(0, 2**20), st.sampled_from([None, 0.0, 0.02, 0.5]))
@settings(max_examples=12)
def test_theta_stays_within_every_bound(schema: Schema, seed: int, proximity: float | None) -> None:
    encoder = Encoder(schema)
    x = encoder.encode(strategies.table_of(schema, ROWS, seed))
    cf = serve(encoder, x, strategies.candidates(encoder.width, ROWS, seed, x))
    bounds = bounds_of(*rules_of(encoder), jnp.asarray(x), jnp.asarray(cf), 0.05, proximity)
    wild = np.random.default_rng(seed).normal(0, 0.1, cf.shape).astype(np.float32)
    theta = np.asarray(inside(jnp.asarray(wild), bounds))
    scalars = len(encoder.scalars)
    assert not theta[:, scalars:].any()
    assert np.abs(theta).max() <= 0.05 + 1e-6
    assert not theta[:, :scalars][:, [f.immutable for f in encoder.scalars]].any()
    there = cf + theta
    assert there.min() >= -1e-6
    assert there.max() <= 1 + 1e-6
    for j, feature in enumerate(encoder.scalars):
        rising, falling = theta[:, j] > 1e-6, theta[:, j] < -1e-6
        number = ~np.isin(np.asarray(encoder.decode(x)[feature.name]), feature.special)
        if feature.direction == "up":
            assert (there[falling & number, j] >= x[falling & number, j] - 1e-6).all()
        if feature.direction == "down":
            assert (there[rising & number, j] <= x[rising & number, j] + 1e-6).all()
    if proximity is not None:
        length, before = np.abs(there - x).sum(axis=1), np.abs(cf - x).sum(axis=1)
        assert (length <= (1 + proximity) * before + 1e-5).all()


def test_the_projection_is_the_nearest_point() -> None:
    """No other point of the set, found by rejection, is nearer; without the budget it is a clip."""
    random = np.random.default_rng(0)
    away = jnp.array([[0.3, -0.01, 0.0]])
    low, high = jnp.full((1, 3), -0.05), jnp.full((1, 3), 0.05)
    theta = jnp.array([[0.04, 0.03, -0.06]])
    bounds = Bounds(low, high, away, jnp.array([0.32]))
    found = np.asarray(inside(theta, bounds))
    points = random.uniform(-0.05, 0.05, (200_000, 3))
    kept = points[np.abs(np.asarray(away) + points).sum(axis=1) <= 0.32]
    nearest = np.linalg.norm(kept - np.asarray(theta), axis=1).min()
    assert np.abs(np.asarray(away) + found).sum() <= 0.32 + 1e-6
    assert np.linalg.norm(found - np.asarray(theta)) <= nearest + 1e-4
    free = inside(theta, bounds._replace(radius=None))
    np.testing.assert_allclose(free, jnp.clip(theta, low, high))


def test_what_is_inside_stays() -> None:
    theta = jax.random.uniform(jax.random.key(0), (4, 5), minval=-0.01, maxval=0.01)
    away = jax.random.normal(jax.random.key(1), (4, 5))
    bounds = Bounds(jnp.full((4, 5), -0.05), jnp.full((4, 5), 0.05), away, jnp.abs(away).sum(axis=1) + 1)
    np.testing.assert_allclose(inside(theta, bounds), theta, atol=1e-6)
