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


class MarkedExplanations(NamedTuple):
    """Counterfactuals as they are issued, and what they are compared with.

    Attributes
    ----------
    x
        (n, d) the encoded queries.
    issued
        (n, m, d) what the customer gets, at served values; zeros where not found.
    counterpart
        (n, m, d) the unmarked counterfactual (``bilevel``), or the twin that nobody gets (``twins``).
    found
        (n, m) whether a counterfactual is issued.
    paired
        (n, m) whether issued and counterpart differ, so that the row can be tested.
    target
        (n,) the class that each query asked for.
    """

    x: FloatArray
    issued: FloatArray
    counterpart: FloatArray
    found: BoolArray
    paired: BoolArray
    target: IntArray


class Twins(NamedTuple):
    """Pairs of candidate answers, without a word of which was issued: what weights may be made from.

    Attributes
    ----------
    x
        (n, d) the encoded queries.
    low, high
        (n, d) the two candidates at served values, in the order of their values.
    target
        (n,) the class that each query asked for.
    number
        (n,) the number of the counterfactual among those of its query.
    """

    x: FloatArray
    low: FloatArray
    high: FloatArray
    target: IntArray
    number: IntArray


class Classifier(Protocol):
    """A model that answers class probabilities for encoded rows."""

    def predict_proba(self, x: FloatArray) -> FloatArray:
        """Return (n, 2) probabilities for the (n, d) encoded rows ``x``."""
        ...


class Oracle(Protocol):
    """What an attacker may call: exactly what the service answers, and nothing else."""

    def predict(self, x: FloatArray) -> FloatArray:
        """Return (n, 2) probabilities for encoded rows."""
        ...

    def explain(self, x: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return the (n, m, d) issued counterfactuals of encoded rows, and which (n, m) were found."""
        ...


class Transcript(NamedTuple):
    """What an attacker has gathered.

    Attributes
    ----------
    x
        (r, d) encoded rows.
    y
        (r, 2) the labels to learn, as probabilities (0 and 1 for hard labels).
    kind
        (r,) what each row is: a query (0), a counterfactual (1), a counterfactual of one (2).
    source
        (r,) the number of the query that each row came from, among those the attacker started with.
    requests
        How many rows were sent to the service.
    """

    x: FloatArray
    y: FloatArray
    kind: IntArray
    source: IntArray
    requests: int


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
