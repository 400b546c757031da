"""The variational auto-encoder behind C-CHVAE, conditioned on the columns that may not change."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cfmark.data import Dataset, Layout
from cfmark.models import TrainConfig, descend, mlp
from cfmark.seeds import derive_seed


@dataclass(frozen=True)
class VaeConfig:
    """Its shape and training.

    Attributes
    ----------
    latent
        Latent dimensions.
    hidden
        Units of the encoder's hidden layers; the decoder mirrors them.
    spread
        The standard deviation of a number around its reconstruction: smaller is more faithful.
    rows
        At most so many train rows are learnt from.
    learning_rate, epochs, batch_size
        Of Adam.
    """

    latent: int = 12
    hidden: tuple[int, ...] = (96, 48)
    spread: float = 0.05
    rows: int = 20_000
    learning_rate: float = 2e-3
    epochs: int = 60
    batch_size: int = 64


class Vae(NamedTuple):
    """Encoder and decoder, and the (d,) mask of the columns that condition both."""

    encoder: mlp.Mlp
    decoder: mlp.Mlp
    given: jax.Array


def fit_vae(key: jax.Array, dataset: Dataset, layout: Layout, given: jax.Array, config: VaeConfig) -> Vae:
    """Train on the train rows."""
    rows = dataset.train.x
    if len(rows) > config.rows:
        chosen = np.random.default_rng(derive_seed("vae", dataset.name, config.rows))
        rows = rows[chosen.choice(len(rows), config.rows, replace=False)]
    trained: Vae = _fit(key, jnp.asarray(rows), given, layout, config)
    return trained


def encode(vae: Vae, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return mean and log-variance (n, z) of the rows' place in latent space."""
    out = mlp.logits(vae.encoder, x)
    latent = out.shape[1] // 2
    return out[:, :latent], jnp.clip(out[:, latent:], -8.0, 4.0)


def decode(vae: Vae, z: jax.Array, x: jax.Array, layout: Layout) -> jax.Array:
    """Return the rows (n, d) at ``z`` (n, z), for queries ``x`` (n, d) that give the fixed columns."""
    out = _decoder_out(vae, z, x)
    c = layout.scalars
    groups = [jax.nn.softmax(out[:, start:stop]) for start, stop in layout.groups]
    return jnp.concatenate([jax.nn.sigmoid(out[:, :c]), *groups], axis=1)


@partial(jax.jit, static_argnums=(3, 4))
def _fit(key: jax.Array, x: jax.Array, given: jax.Array, layout: Layout, config: VaeConfig) -> Vae:
    key_encoder, key_decoder, key_steps = jax.random.split(key, 3)
    d = x.shape[1]
    networks = (
        mlp.init(key_encoder, d, config.hidden, 2 * config.latent),
        mlp.init(key_decoder, config.latent + d, config.hidden[::-1], d),
    )
    steps = TrainConfig(
        learning_rate=config.learning_rate, epochs=config.epochs, batch_size=config.batch_size
    )

    def loss(
        networks: tuple[mlp.Mlp, mlp.Mlp], key: jax.Array, batch: tuple[jax.Array, ...], weights: jax.Array
    ) -> jax.Array:
        return (weights * _bound(key, Vae(*networks, given), batch[0], layout, config.spread)).mean()

    encoder, decoder = descend(key_steps, networks, loss, (x,), jnp.ones(x.shape[0]), steps)
    return Vae(encoder, decoder, given)


def _bound(key: jax.Array, vae: Vae, x: jax.Array, layout: Layout, spread: float) -> jax.Array:
    """Return the (n,) negative evidence lower bound: Gaussian numbers, categorical groups."""
    mean, log_variance = encode(vae, x)
    z = mean + jnp.exp(0.5 * log_variance) * jax.random.normal(key, mean.shape)
    out = _decoder_out(vae, z, x)
    c = layout.scalars
    error = ((jax.nn.sigmoid(out[:, :c]) - x[:, :c]) ** 2).sum(axis=1) / (2 * spread**2)
    for start, stop in layout.groups:
        error -= (x[:, start:stop] * jax.nn.log_softmax(out[:, start:stop])).sum(axis=1)
    divergence = 0.5 * (jnp.exp(log_variance) + mean**2 - 1 - log_variance).sum(axis=1)
    return error + divergence


def _decoder_out(vae: Vae, z: jax.Array, x: jax.Array) -> jax.Array:
    return mlp.logits(vae.decoder, jnp.concatenate([z, jnp.where(vae.given[None, :], x, 0)], axis=1))
