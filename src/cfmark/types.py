"""The nouns that rooms hand to each other. NumPy only: an auditor needs no JAX."""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import jax

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]


class Explanations(NamedTuple):
    """Counterfactuals for n queries, m for each.

    Attributes
    ----------
    x
        (n, d) the encoded queries.
    cf
        (n, m, d) the encoded counterfactuals at their served values; zeros where not found.
    found
        (n, m) whether the counterfactual exists: of the target class at its served value.
    target
        (n,) the class that each query asked for.
    """

    x: FloatArray
    cf: FloatArray
    found: BoolArray
    target: IntArray


class Classifier(Protocol):
    """A model that answers class probabilities for encoded rows."""

    def predict_proba(self, x: FloatArray) -> FloatArray:
        """Return (n, 2) probabilities for the (n, d) encoded rows ``x``."""
        ...


class Explainer(Protocol):
    """A fitted counterfactual method."""

    @property
    def classifier(self) -> Classifier:
        """The model whose decisions are explained."""
        ...

    def search(self, keys: "jax.Array", x: FloatArray, target: IntArray) -> tuple[FloatArray, BoolArray]:
        """Look for counterfactuals: one PRNG key a row, ``(n, m, d)`` candidates and ``(n, m)`` found.

        A row's answer depends on its own key and values alone, not on its neighbours in the batch.
        """
        ...


def predict(classifier: Classifier, x: FloatArray) -> IntArray:
    """Return the (n,) classes that the classifier gives to the rows; a tie is class 0."""
    probabilities: NDArray[Any] = classifier.predict_proba(x)
    return (probabilities[:, 1] > probabilities[:, 0]).astype(np.int64)
