from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cfmark.models import mlp

KEY = jax.random.key(0)


@pytest.mark.parametrize(("hidden", "outputs"), [((64, 32, 16), 2), ((5,), 7)])
def test_shapes(hidden: tuple[int, ...], outputs: int) -> None:
    network = mlp.init(KEY, 9, hidden, outputs)
    sizes = (9, *hidden, outputs)
    assert [w.shape for w in network.weights] == list(pairwise(sizes))
    assert [b.shape for b in network.biases] == [(size,) for size in sizes[1:]]
    assert mlp.logits(network, jnp.ones((3, 9))).shape == (3, outputs)
    assert mlp.logits(network, jnp.ones((4, 3, 9))).shape == (4, 3, outputs)
    assert mlp.logits(network, jnp.ones(9)).shape == (outputs,)


def test_he_normal_weights_and_zero_biases() -> None:
    network = mlp.init(KEY, 400, (300,))
    assert np.std(network.weights[0]) == pytest.approx(np.sqrt(2 / 400), rel=0.02)
    assert all(not b.any() for b in network.biases)


def test_leaky_layers_by_hand() -> None:
    network = mlp.Mlp(
        (jnp.array([[1.0, -1.0]]), jnp.eye(2)), (jnp.array([0.0, 1.0]), jnp.array([10.0, 20.0]))
    )
    # x = 3: the hidden units are 3 and -3 + 1 = -2, which leaks to -0.4.
    np.testing.assert_allclose(mlp.logits(network, jnp.array([3.0])), [13.0, 19.6], rtol=1e-6)


def test_dropout_drops_at_its_rate_and_keeps_the_mean() -> None:
    width = 4000
    network = mlp.Mlp((jnp.ones((1, width)), jnp.ones((width, 1))), (jnp.zeros(width), jnp.zeros(1)))
    x = jnp.ones((50, 1))
    sums = np.asarray(mlp.dropout_logits(KEY, network, x, 0.3))[:, 0]
    assert sums.mean() == pytest.approx(width, rel=0.01)
    # Each unit counts 0 or 1 / 0.7: the sum's variance is width * 0.3 / 0.7.
    assert sums.std() == pytest.approx(np.sqrt(width * 0.3 / 0.7), rel=0.3)
    np.testing.assert_allclose(mlp.logits(network, x), width)


def test_dropout_depends_on_the_key_alone() -> None:
    network = mlp.init(KEY, 6, (32, 16))
    x = jnp.ones((5, 6))
    first, again = (mlp.dropout_logits(jax.random.key(1), network, x, 0.5) for _ in range(2))
    other = mlp.dropout_logits(jax.random.key(2), network, x, 0.5)
    np.testing.assert_array_equal(first, again)
    assert (np.asarray(first) != np.asarray(other)).any()
