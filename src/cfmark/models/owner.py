"""The owner's network of a data set: trained once, kept in the cache folder, and read from there later."""

import hashlib
from typing import NamedTuple

import jax

from cfmark.data import Dataset, cache_folder
from cfmark.errors import ModelError
from cfmark.models.classifier import (
    JaxClassifier,
    describe,
    fit_classifier,
    load_classifier,
    owner_config,
    save_classifier,
)
from cfmark.seeds import derive_seed


class Owned(NamedTuple):
    """The network, and where it came from in words."""

    classifier: JaxClassifier
    origin: str


def own_classifier(dataset: Dataset) -> Owned:
    """Return the network that is trained on the train rows; another table or training is another network."""
    config = owner_config(len(dataset.train.x))
    digest = hashlib.sha256(repr((config, dataset.schema, jax.__version__)).encode())
    digest.update(dataset.train.x.tobytes())
    digest.update(dataset.train.y.tobytes())
    kept = cache_folder() / "models" / f"{dataset.name}-{digest.hexdigest()[:16]}.npz"
    if kept.is_file() and kept.with_suffix(".json").is_file():
        try:
            return Owned(load_classifier(kept), "a network trained on the train rows, from the cache")
        except ModelError:
            pass
    classifier = fit_classifier(jax.random.key(derive_seed("owner", dataset.name)), dataset, config)
    try:
        save_classifier(classifier, kept, dataset=dataset.name, training=describe(config))
    except OSError:
        return Owned(classifier, "a network trained on the train rows (the cache folder cannot be written)")
    return Owned(classifier, "a network trained on the train rows")
