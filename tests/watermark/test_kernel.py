import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cfmark.models import mlp
from cfmark.watermark.twins import gap_and_kernel


@pytest.mark.parametrize("hidden", [(5,), (16, 8), (64, 32, 16)])
def test_the_kernel_is_the_product_of_the_gradients(hidden: tuple[int, ...]) -> None:
    key_net, key_points = jax.random.split(jax.random.key(0))
    network, points = mlp.init(key_net, 7, hidden), jax.random.uniform(key_points, (9, 7))

    def gap(network: mlp.Mlp, point: jax.Array) -> jax.Array:
        logits = mlp.logits(network, point[None])[0]
        return logits[1] - logits[0]

    gradients = jax.vmap(jax.grad(gap), (None, 0))(network, points)
    flat = jnp.concatenate([part.reshape(9, -1) for part in jax.tree.leaves(gradients)], axis=1)
    gaps, kernel = gap_and_kernel(network, points)
    np.testing.assert_allclose(gaps, jax.vmap(gap, (None, 0))(network, points), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(kernel, flat @ flat.T, rtol=1e-4, atol=1e-4)


def test_the_kernel_says_where_a_step_of_training_moves_the_gap() -> None:
    """One small step towards a label at point q moves the gap at every point by K(p, q) times the error."""
    key_net, key_points = jax.random.split(jax.random.key(1))
    network, points = mlp.init(key_net, 4, (16, 8)), jax.random.uniform(key_points, (6, 4))
    gaps, kernel = gap_and_kernel(network, points)

    def loss(network: mlp.Mlp) -> jax.Array:
        return -jax.nn.log_softmax(mlp.logits(network, points[2]))[1]

    size = 1e-4
    step = jax.tree.map(lambda w, g: w - size * g, network, jax.grad(loss)(network))
    moved, _ = gap_and_kernel(step, points)
    error = 1 - jax.nn.sigmoid(gaps[2])
    np.testing.assert_allclose((moved - gaps) / size, kernel[:, 2] * error, rtol=0.1, atol=0.1)
