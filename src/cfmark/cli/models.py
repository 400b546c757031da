"""Which model a command explains: the data set's own, trained once and kept, or one that the user names."""

import importlib
import sys
from pathlib import Path
from typing import Any, NamedTuple

from cfmark.data import Dataset
from cfmark.errors import ConfigError, ModelError
from cfmark.models import accuracy, adapt, load_classifier, own_classifier
from cfmark.types import Classifier


class OpenModel(NamedTuple):
    """A classifier, the share of holdout rows it gets right, and what it is in words."""

    classifier: Classifier
    accuracy: float
    origin: str


def open_model(dataset: Dataset, name: str | None = None, option: str = "--model") -> OpenModel:
    """Open a model for a data set.

    Parameters
    ----------
    dataset
        What the model classifies.
    name
        ``None``: a network trained on the train rows, kept in the cache folder. ``model.npz``: a saved
        network. ``module:attribute``: an estimator or a callable that Python can import from here.
    option
        What the name was given as, for messages.
    """
    classifier: Classifier
    if name is None:
        classifier, origin = own_classifier(dataset)
    elif name.endswith(".npz"):
        classifier, origin = _saved(dataset, name), f"the network in {name}"
    else:
        classifier, origin = adapt(_imported(name, option), dataset), f"the model {name}"
    return OpenModel(classifier, accuracy(classifier, dataset.holdout.x, dataset.holdout.y), origin)


def _saved(dataset: Dataset, name: str) -> Classifier:
    if not Path(name).is_file():
        raise ModelError(f"{name}: there is no such file")
    classifier = load_classifier(name)
    width = classifier.params.weights[0].shape[0]
    if width != dataset.width:
        raise ModelError(f"{name} takes {width} encoded columns; {dataset.name} has {dataset.width}")
    return classifier


def _imported(name: str, option: str) -> Any:
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise ConfigError(f"{option} {name}: expected a file 'model.npz' or 'module:attribute'")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        imported = importlib.import_module(module)
    except Exception as problem:  # a module may fail in any way
        reason = f"{type(problem).__name__}: {problem}"
        raise ConfigError(f"{option} {name}: the module cannot be imported ({reason})") from problem
    if not hasattr(imported, attribute):
        raise ConfigError(f"{option} {name}: the module {module!r} has no {attribute!r}")
    return getattr(imported, attribute)
