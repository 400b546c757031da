"""How much a scout would learn from each candidate: the gradient kernel of a small network, layer by layer.

One gradient step on a row q with error r moves the logit gap at p by K(p, q) r, where K is the product of
the two gradients. For dense layers that is a sum of products of what comes in and what comes back:

    K(p, q) = sum over layers of (h_l(p) . h_l(q) + 1) (e_l(p) . e_l(q))

with h_l the layer's input and e_l the derivative of the gap by its output.
"""

import jax
import jax.numpy as jnp

from cfmark.models import mlp


def gap_and_kernel(network: mlp.Mlp, points: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the logit gaps (k,) of class 1 over class 0 at points (k, d), and their kernel (k, k)."""
    inputs = [points]
    for weight, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        z = inputs[-1] @ weight + bias[None]
        inputs.append(jnp.where(z > 0, z, mlp.LEAK * z))
    out = inputs[-1] @ network.weights[-1] + network.biases[-1][None]
    back = jnp.broadcast_to(jnp.array([[-1.0, 1.0]]), out.shape)
    kernel = jnp.zeros((len(points), len(points)))
    for layer in range(len(network.weights) - 1, -1, -1):
        kernel += (inputs[layer] @ inputs[layer].T + 1) * (back @ back.T)
        if layer:
            slope = jnp.where(inputs[layer] > 0, 1, mlp.LEAK)
            back = slope * (back @ network.weights[layer].T)
    return out[:, 1] - out[:, 0], kernel
