"""What a thief gathers (Query, MRCE, DualCF), as one function each, and the labels it learns from.

The protocol of every evaluation: the budget is n distinct query rows; MRCE trains on the n rows and their n
issued counterfactuals, DualCF on the n issued counterfactuals and the n that are issued for *them*, and the
service is asked for the label of every row. In the paper's appendix the labels of counterfactuals are not
asked for but assumed, and half as many rows are asked about: labels ``opposite``.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np

from cfmark.errors import ConfigError
from cfmark.types import FloatArray, IntArray, Oracle, Transcript

Labels = Literal["soft", "hard", "opposite"]
QUERY, CF, DUAL = 0, 1, 2


class Found(NamedTuple):
    """The counterfactuals (f, d) that were found, and (f,) the number of the row that each answers."""

    cf: FloatArray
    row: IntArray


def query(oracle: Oracle, x: FloatArray, *, assumed: bool = False) -> Transcript:
    """Gather answers to queries alone: no counterfactual is used (Tramèr et al.); nothing can be assumed."""
    return _joined([_part(x, _asked(oracle, x), QUERY, np.arange(len(x)))], len(x))


def mrce(oracle: Oracle, x: FloatArray, *, assumed: bool = False) -> Transcript:
    """Gather queries and their counterfactuals (Aïvodji et al.); ``assumed`` labels of those are 1 - F(x)."""
    cf, row = _found(oracle, x)
    answers = _asked(oracle, x)
    labels = answers[row, ::-1] if assumed else _asked(oracle, cf)
    requests = 2 * len(x) + (0 if assumed else len(cf))
    return _joined([_part(x, answers, QUERY, np.arange(len(x))), _part(cf, labels, CF, row)], requests)


def dual_cf(oracle: Oracle, x: FloatArray, *, assumed: bool = False) -> Transcript:
    """Gather counterfactuals and the counterfactuals of those (Wang et al.).

    ``assumed`` labels are 1 - F(x) and F(x): the service is asked for the labels of the queries alone.
    """
    cf, row = _found(oracle, x)
    dual, of_cf = _found(oracle, cf)
    if assumed:
        answers = _asked(oracle, x)
        first, second = answers[row, ::-1], answers[row[of_cf]]
    else:
        first, second = _asked(oracle, cf), _asked(oracle, dual)
    requests = len(x) + len(cf) + (len(x) if assumed else len(cf) + len(dual))
    return _joined([_part(cf, first, CF, row), _part(dual, second, DUAL, row[of_cf])], requests)


ATTACKS: dict[str, Callable[..., Transcript]] = {"query": query, "mrce": mrce, "dual_cf": dual_cf}


def attacked(attack: str, oracle: Oracle, x: FloatArray, labels: str = "soft") -> Transcript:
    """Return what an attack learns from, with a budget of the rows (n, d).

    With labels ``opposite``, MRCE and DualCF ask about the first half of the rows, as the paper's appendix
    says, and assume the classes of counterfactuals; Query asks about all.
    """
    if attack not in ATTACKS:
        raise ConfigError(f"there is no attack {attack!r}; the attacks are {', '.join(ATTACKS)}")
    if labels != "opposite":
        return with_labels(ATTACKS[attack](oracle, x), labels)
    rows = len(x) if attack == "query" else (len(x) + 1) // 2
    return ATTACKS[attack](oracle, x[:rows], assumed=True)


def with_labels(transcript: Transcript, labels: str) -> Transcript:
    """Return the transcript with probabilities as they are (soft), or with the classes they say (hard)."""
    if labels == "soft":
        return transcript
    if labels == "opposite":
        raise ConfigError("labels 'opposite' are assumed while gathering: call attacked(..., 'opposite')")
    if labels != "hard":
        raise ConfigError(f"labels {labels!r} are not one of {', '.join(get_args(Labels))}")
    classes = (transcript.y[:, 1] > transcript.y[:, 0]).astype(np.int64)
    return transcript._replace(y=np.eye(2, dtype=np.float32)[classes])


def _found(oracle: Oracle, x: FloatArray) -> Found:
    """Ask for counterfactuals: every one that is found, whatever their number for a row."""
    if not len(x):
        return Found(np.zeros_like(x), np.zeros(0, np.int64))
    cf, found = oracle.explain(x)
    return Found(cf[found], np.nonzero(found)[0].astype(np.int64))


def _asked(oracle: Oracle, x: FloatArray) -> FloatArray:
    return oracle.predict(x) if len(x) else np.zeros((0, 2), np.float32)


def _part(x: FloatArray, y: FloatArray, kind: int, source: IntArray) -> Transcript:
    return Transcript(x.astype(np.float32), y.astype(np.float32), np.full(len(x), kind), source, 0)


def _joined(parts: list[Transcript], requests: int) -> Transcript:
    return Transcript(
        x=np.concatenate([part.x for part in parts]),
        y=np.concatenate([part.y for part in parts]),
        kind=np.concatenate([part.kind for part in parts]),
        source=np.concatenate([part.source for part in parts]),
        requests=requests,
    )
