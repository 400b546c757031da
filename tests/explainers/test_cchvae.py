from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import trained
from cfmark.errors import ConfigError
from cfmark.explainers import CchvaeConfig, VaeConfig, cchvae
from cfmark.explainers.cchvae import Static, _places
from cfmark.explainers.loop import Context, Space


def test_places_lie_in_their_latent_shell() -> None:
    space = Space.of(trained.dataset("cancer"))
    config = CchvaeConfig(candidates=200, first_radius=0.5, growth=2.0)
    keys = jax.random.split(jax.random.key(0), 2)
    context = Context(keys, jnp.zeros((2, 30)), jnp.zeros(2, int), space.rules)
    home = jnp.array([[0.0] * 6, [3.0] * 6])
    for shell, (low, high) in enumerate([(0, 0.5), (0.5, 1), (1, 2)]):
        places = np.asarray(_places(Static(config, space.layout), context, home, jnp.array(shell)))
        assert places.shape == (2, 200, 6)
        radius = np.sqrt(((places - np.asarray(home)[:, None]) ** 2).sum(axis=2))
        assert low - 1e-5 <= radius.min()
        assert 0.95 * high < radius.max() <= high + 1e-5


def test_immutable_columns_condition_the_auto_encoder() -> None:
    model, config = trained.classifier("cancer"), CchvaeConfig(vae=VaeConfig(hidden=(8,), epochs=1))
    for name, schema in (("cancer", "paper"), ("cancer", "actionable")):
        data = trained.dataset(name, schema)
        fitted = cchvae.fit(jax.random.key(0), data, model, config)
        fixed = [feature.immutable for feature in data.encoder.scalars]
        assert fitted.vae.given.tolist() == fixed
        assert any(fixed) == (schema == "actionable")


@pytest.mark.parametrize(
    "options",
    [
        {"n_cfs": 0},
        {"candidates": 0},
        {"max_shells": 0},
        {"first_radius": 0},
        {"growth": 1},
        {"walk_steps": -1},
    ],
)
def test_bad_configs(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        CchvaeConfig(**options)
    assert hash(CchvaeConfig()) == hash(CchvaeConfig())
