"""``adapt``: any scikit-learn estimator, pipeline or callable as a Classifier, its answers checked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cfmark.data import Dataset, Encoder
from cfmark.errors import ModelError
from cfmark.models.classifier import JaxClassifier
from cfmark.types import Classifier, FloatArray

Inputs = Literal["raw", "encoded"]
PROBES = 8


@dataclass(frozen=True, eq=False)
class BlackBox:
    """A model that can only be asked: no gradient, perhaps not even in this process.

    Attributes
    ----------
    ask
        Takes a table in the schema's units (``inputs`` "raw") or an encoded array ("encoded"), and
        returns the probability of class 1 (n,) or of both classes (n, 2).
    encoder
        Turns encoded rows into the table that a raw model wants.
    inputs
        What ``ask`` takes.
    name
        For messages.
    """

    ask: Callable[[Any], Any]
    encoder: Encoder
    inputs: Inputs
    name: str

    def predict_proba(self, x: FloatArray) -> FloatArray:
        """Return the (n, 2) probabilities of the encoded rows; a wrong answer is a ModelError."""
        x = np.asarray(x, np.float32)
        if not len(x):
            return np.zeros((0, 2), np.float32)
        rows = self.encoder.decode(x) if self.inputs == "raw" else x
        try:
            answer = self.ask(rows)
        except Exception as problem:
            raise ModelError(f"{self.name} failed on {len(x)} rows of the schema: {problem}") from problem
        return _checked(answer, len(x), self.name)


def adapt(model: Any, dataset: Dataset, inputs: Inputs | None = None) -> Classifier:
    """Make a Classifier of a fitted model.

    Parameters
    ----------
    model
        A Classifier already, a scikit-learn estimator or pipeline with ``predict_proba``, or a callable.
    dataset
        The data set that the model was made for; a few of its rows are asked to see that it answers.
    inputs
        ``raw``: the model takes a table in the schema's own columns and units. ``encoded``: it takes
        arrays in [0, 1]. By default read off the estimator; a callable is taken as raw.
    """
    if isinstance(model, BlackBox | JaxClassifier):
        return model
    name = type(model).__name__
    proba = getattr(model, "predict_proba", None)
    if proba is None and not callable(model):
        raise ModelError(
            f"{name} has no predict_proba and cannot be called; fit a classifier with probabilities"
        )
    if proba is None:
        ask, inputs = model, inputs or "raw"
        name = getattr(model, "__name__", name)
    else:
        inputs = inputs or _inputs_of(model, dataset, name)
        ask = _in_order(proba, getattr(model, "classes_", None), dataset, name)
        ask = _as_fitted(ask, model) if inputs == "raw" else ask
    adapted = BlackBox(ask, dataset.encoder, inputs, name)
    adapted.predict_proba(dataset.train.x[:PROBES])
    return adapted


def _inputs_of(model: Any, dataset: Dataset, name: str) -> Inputs:
    columns = getattr(model, "feature_names_in_", None)
    if columns is not None:
        if set(columns) == set(dataset.schema.names):
            return "raw"
        unknown = sorted(set(map(str, columns)) ^ set(dataset.schema.names))
        raise ModelError(f"{name} was fitted on other columns than the schema's: {', '.join(unknown[:5])}")
    width = getattr(model, "n_features_in_", None)
    if width is not None and width not in (dataset.width, len(dataset.schema.features)):
        raise ModelError(
            f"{name} was fitted on {width} columns; the schema has {len(dataset.schema.features)}, "
            f"encoded {dataset.width}"
        )
    if width == dataset.width != len(dataset.schema.features):
        return "encoded"
    if width is None:
        return "raw"
    raise ModelError(
        f"{name} was fitted on a plain array of {width} columns; say whether these were its own units, "
        "as in adapt(model, dataset, inputs='raw'), or inputs='encoded'; or fit it on a table with names"
    )


def _as_fitted(ask: Callable[[Any], Any], model: Any) -> Callable[[Any], Any]:
    """Hand a table over as the estimator saw it in training: its order of columns, or a plain array."""
    columns = getattr(model, "feature_names_in_", None)
    if columns is not None:
        return lambda table: ask(table[list(columns)])
    if getattr(model, "n_features_in_", None) is not None:
        return lambda table: ask(table.to_numpy())
    return ask


def _in_order(proba: Callable[[Any], Any], classes: Any, dataset: Dataset, name: str) -> Callable[[Any], Any]:
    """Put the columns of predict_proba in the order class 0, class 1."""
    if classes is None:
        return proba
    listed = list(classes)
    if len(listed) != 2:
        raise ModelError(f"{name} knows {len(listed)} classes; a model of two classes is needed")
    for first, second in (dataset.schema.labels, (0, 1)):
        if listed == [first, second]:
            return proba
        if listed == [second, first]:
            return lambda rows: np.asarray(proba(rows))[:, ::-1]
    raise ModelError(
        f"{name} knows the classes {listed}; the schema's labels are {list(dataset.schema.labels)}"
    )


def _checked(answer: Any, rows: int, name: str) -> FloatArray:
    try:
        values = np.asarray(answer, np.float64)
    except (TypeError, ValueError) as problem:
        raise ModelError(f"{name} answered with something that is not numbers ({problem})") from problem
    if values.shape in ((rows,), (rows, 1)):
        values = values.reshape(rows)
        values = np.stack([1 - values, values], axis=1)
    if values.shape != (rows, 2):
        raise ModelError(
            f"{name} answered with shape {values.shape} to {rows} rows; ({rows}, 2) or ({rows},) is needed"
        )
    if not np.isfinite(values).all():
        raise ModelError(f"{name} answered with a value that is not finite")
    if values.min() < -1e-6 or values.max() > 1 + 1e-6:
        raise ModelError(
            f"{name} answered {values.flat[np.abs(values - 0.5).argmax()]:g}, which is not a probability"
        )
    sums = values.sum(axis=1)
    if np.abs(sums - 1).max() > 1e-3:
        raise ModelError(
            f"{name} answered probabilities that sum to {sums[np.abs(sums - 1).argmax()]:g}, not to 1"
        )
    return values.astype(np.float32)
