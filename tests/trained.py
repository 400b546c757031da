"""Data sets and trained networks, made once and shared by the tests of a session and by its workers."""

from functools import cache

import jax
import pytest

from cfmark.data import Dataset, cache_folder, is_present, load
from cfmark.models import JaxClassifier, fit_classifier, load_classifier, save_classifier
from cfmark.seeds import derive_seed


@cache
def dataset(name: str, schema: str = "paper") -> Dataset:
    if not is_present(name):
        pytest.skip(f"the files of {name} are not in CFMARK_DATA")
    return load(name, schema)


def classifier(name: str, schema: str = "paper") -> JaxClassifier:
    """Return the owner's network; schemas of one encoding share it."""
    data = dataset(name, schema)
    return _classifier(name, schema if name == "credit" else "paper", data.width)


@cache
def _classifier(name: str, schema: str, width: int) -> JaxClassifier:
    kept = cache_folder() / "trained" / f"{name}-{width}.npz"
    if kept.is_file() and kept.with_suffix(".json").is_file():
        return load_classifier(kept)
    network = fit_classifier(jax.random.key(derive_seed("owner", name)), dataset(name, schema))
    save_classifier(network, kept)
    return network
