"""Counterfactual methods: each is a config and a ``fit``; ``explain`` runs any of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from cfmark.data import Dataset
from cfmark.errors import ConfigError
from cfmark.explainers import cchvae as cchvae
from cfmark.explainers import dice as dice
from cfmark.explainers import growing_sphere as growing_sphere
from cfmark.explainers.base import explain as explain
from cfmark.explainers.cchvae import CchvaeConfig as CchvaeConfig
from cfmark.explainers.dice import DiceConfig as DiceConfig
from cfmark.explainers.growing_sphere import GrowingSphereConfig as GrowingSphereConfig
from cfmark.explainers.vae import VaeConfig as VaeConfig
from cfmark.explainers.words import changed as changed
from cfmark.explainers.words import changes as changes
from cfmark.explainers.words import shown as shown
from cfmark.types import Classifier, Explainer


class Method(NamedTuple):
    """A counterfactual method by name: its config and its fit."""

    config: Callable[..., Any]
    fit: Callable[..., Explainer]


METHODS: dict[str, Method] = {
    "growing_sphere": Method(GrowingSphereConfig, growing_sphere.fit),
    "dice": Method(DiceConfig, dice.fit),
    "cchvae": Method(CchvaeConfig, cchvae.fit),
}


def fit_explainer(
    key: jax.Array, method: str, dataset: Dataset, classifier: Classifier, **options: Any
) -> Explainer:
    """Fit the method of that name; options are fields of its config."""
    if method not in METHODS:
        raise ConfigError(f"there is no method {method!r}; the methods are {', '.join(METHODS)}")
    chosen = METHODS[method]
    try:
        config = chosen.config(**options)
    except TypeError as problem:
        raise ConfigError(f"{method}: {problem}") from problem
    return chosen.fit(key, dataset, classifier, config)


__all__ = [
    "METHODS",
    "CchvaeConfig",
    "DiceConfig",
    "GrowingSphereConfig",
    "Method",
    "VaeConfig",
    "cchvae",
    "changed",
    "changes",
    "dice",
    "explain",
    "fit_explainer",
    "growing_sphere",
    "shown",
]
