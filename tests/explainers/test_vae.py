from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import trained
from cfmark.data import Layout
from cfmark.explainers import VaeConfig, vae
from cfmark.explainers.loop import Space
from cfmark.explainers.vae import Vae

CONFIG = VaeConfig(latent=6, hidden=(48,), epochs=40)


def trained_vae(name: str, config: VaeConfig, given: Any = None) -> tuple[Vae, Layout]:
    data = trained.dataset(name)
    layout = Space.of(data).layout
    fixed = jnp.zeros(data.width, bool) if given is None else jnp.asarray(given)
    return vae.fit_vae(jax.random.key(0), data, layout, fixed, config), layout


def test_rows_are_reconstructed() -> None:
    model, layout = trained_vae("cancer", CONFIG)
    x = trained.dataset("cancer").train.x
    rebuilt = vae.decode(model, vae.encode(model, x)[0], x, layout)
    assert rebuilt.shape == x.shape
    assert np.abs(rebuilt - x).mean() < 0.5 * np.abs(x.mean(axis=0) - x).mean()
    assert 0 <= float(rebuilt.min()) <= float(rebuilt.max()) <= 1


def test_groups_are_probabilities_and_mostly_right() -> None:
    model, layout = trained_vae("synthetic", replace(CONFIG, latent=10))
    x = trained.dataset("synthetic").train.x
    rebuilt = np.asarray(vae.decode(model, vae.encode(model, x)[0], x, layout))
    ((start, stop),) = layout.groups
    np.testing.assert_allclose(rebuilt[:, start:stop].sum(axis=1), 1, rtol=1e-5)
    right = rebuilt[:, start:stop].argmax(axis=1) == x[:, start:stop].argmax(axis=1)
    assert right.mean() > 0.8


def test_given_columns_condition_the_decoder_and_others_do_not() -> None:
    given = np.arange(30) < 3
    model, layout = trained_vae("cancer", CONFIG, given)
    x = trained.dataset("cancer").train.x[:5]
    place = vae.encode(model, x)[0]
    base = np.asarray(vae.decode(model, place, x, layout))
    free, fixed = x.copy(), x.copy()
    free[:, 3:] = 0.123
    fixed[:, 0] = 1 - fixed[:, 0]
    np.testing.assert_array_equal(vae.decode(model, place, free, layout), base)
    assert np.abs(np.asarray(vae.decode(model, place, fixed, layout)) - base).max() > 1e-3


def test_the_key_and_the_share_of_rows_decide() -> None:
    short = replace(CONFIG, epochs=1, rows=100)
    first, again = (trained_vae("cancer", short)[0] for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    more = trained_vae("cancer", replace(short, rows=300))[0]
    assert (np.asarray(first.decoder.weights[0]) != np.asarray(more.decoder.weights[0])).any()


@pytest.mark.parametrize("scale", [0.0, 1e3])
def test_variances_stay_finite(scale: float) -> None:
    model, _ = trained_vae("cancer", replace(CONFIG, epochs=1, rows=100))
    mean, log_variance = vae.encode(model, jnp.full((2, 30), scale))
    assert np.isfinite(mean).all()
    assert np.exp(log_variance).max() <= np.exp(4.0) + 1e-3
