"""What a thief gathers (Query, MRCE, DualCF), as one function each, and the labels it learns from.

The protocol of every evaluation: the budget is n distinct query rows; MRCE trains on the n rows and their n
issued counterfactuals, DualCF on the n issued counterfactuals and the n that are issued for *them*.
"""

from collections.abc import Callable

import numpy as np

from cfmark.errors import ConfigError
from cfmark.types import FloatArray, Oracle, Transcript

QUERY, CF, DUAL = 0, 1, 2


def query(oracle: Oracle, x: FloatArray) -> Transcript:
    """Gather answers to queries alone: no counterfactual is used (Tramèr et al.)."""
    return _transcript([(x, oracle.predict(x), QUERY)], len(x))


def mrce(oracle: Oracle, x: FloatArray) -> Transcript:
    """Gather queries and their counterfactuals (Aïvodji et al.)."""
    cf, rows = _found(oracle, x)
    return _transcript([(x, oracle.predict(x), QUERY), (cf, oracle.predict(cf), CF)], rows + len(x) + len(cf))


def dual_cf(oracle: Oracle, x: FloatArray) -> Transcript:
    """Gather counterfactuals and the counterfactuals of those (Wang et al.)."""
    cf, first = _found(oracle, x)
    dual, second = _found(oracle, cf)
    parts = [(cf, oracle.predict(cf), CF), (dual, oracle.predict(dual), DUAL)]
    return _transcript(parts, first + second + len(cf) + len(dual))


ATTACKS: dict[str, Callable[[Oracle, FloatArray], Transcript]] = {
    "query": query,
    "mrce": mrce,
    "dual_cf": dual_cf,
}


def with_labels(transcript: Transcript, labels: str) -> Transcript:
    """Return the transcript with probabilities as they are, or with the classes they say."""
    if labels == "soft":
        return transcript
    if labels != "hard":
        raise ConfigError(f"labels {labels!r} are neither soft nor hard")
    classes = (transcript.y[:, 1] > transcript.y[:, 0]).astype(np.int64)
    return transcript._replace(y=np.eye(2, dtype=np.float32)[classes])


def assumed_opposite(transcript: Transcript, oracle_classes: FloatArray) -> Transcript:
    """Return an MRCE transcript labelled as the paper's appendix says: 1 - F_W(x) for the CF of x.

    ``oracle_classes`` are the (r, 2) probabilities of the query that each row came from.
    """
    flipped = np.where((transcript.kind == CF)[:, None], oracle_classes[:, ::-1], transcript.y)
    return transcript._replace(y=flipped.astype(np.float32))


def _found(oracle: Oracle, x: FloatArray) -> tuple[FloatArray, int]:
    cf, found = oracle.explain(x)
    return cf[found], len(x)


def _transcript(parts: list[tuple[FloatArray, FloatArray, int]], requests: int) -> Transcript:
    return Transcript(
        x=np.concatenate([x for x, _, _ in parts]).astype(np.float32),
        y=np.concatenate([y for _, y, _ in parts]).astype(np.float32),
        kind=np.concatenate([np.full(len(x), kind) for x, _, kind in parts]),
        requests=requests,
    )
