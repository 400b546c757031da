"""The models a thief trains on its transcript: networks, many at once, and scikit-learn's families."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from cfmark.errors import ConfigError
from cfmark.models import JaxClassifier, TrainConfig, fit_many, mlp
from cfmark.types import Classifier, FloatArray, Transcript, predict

Family = Literal["mlp", "mlp_small", "mlp_large", "logistic", "forest", "boosting"]
NETWORKS = {"mlp": (64, 32, 16), "mlp_small": (16, 8), "mlp_large": (256, 128, 64)}
ESTIMATORS = ("logistic", "forest", "boosting")
FAMILIES = (*NETWORKS, *ESTIMATORS)


def train_config(family: str) -> TrainConfig:
    """Return a thief network's training: Adam at 1e-2, 100 epochs of batches of 32, dropout .3."""
    return TrainConfig(hidden=NETWORKS[family], learning_rate=0.01, epochs=100, batch_size=32)


@dataclass(frozen=True, eq=False)
class Estimator:
    """A fitted scikit-learn classifier on encoded rows."""

    model: Any

    def predict_proba(self, x: FloatArray) -> FloatArray:
        """Return (n, 2) probabilities; a class that the model never saw has none."""
        answers = self.model.predict_proba(np.asarray(x))
        probabilities = np.zeros((len(x), 2), np.float32)
        probabilities[:, self.model.classes_] = answers
        return probabilities


def extract(key: jax.Array, transcript: Transcript, family: str = "mlp") -> Classifier:
    """Train one model on a transcript."""
    return extract_many(key[None], [transcript], family)[0]


def extract_many(keys: jax.Array, transcripts: Sequence[Transcript], family: str = "mlp") -> list[Classifier]:
    """Train a model for each of k transcripts: networks a few at a time, the others one on each core."""
    if len(keys) != len(transcripts):
        raise ConfigError(f"{len(keys)} keys for {len(transcripts)} transcripts")
    if family in NETWORKS:
        return list(unstack(train_networks(keys, transcripts, train_config(family))))
    if family not in ESTIMATORS:
        raise ConfigError(f"there is no thief model {family!r}; the models are {', '.join(FAMILIES)}")
    seeds = np.asarray(jax.vmap(lambda key: jax.random.randint(key, (), 0, 2**31 - 1))(keys)).tolist()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(_estimator, seeds, transcripts, [family] * len(seeds)))


def train_networks(
    keys: jax.Array,
    transcripts: Sequence[Transcript],
    config: TrainConfig,
    start: mlp.Mlp | None = None,
) -> mlp.Mlp:
    """Return stacked networks (k, ...), one for each transcript; with ``start`` (k, ...) those go on.

    Transcripts are padded with weight 0 to a few lengths, so that as few programs are compiled.
    """
    lengths = np.array([_length(len(t.x), config.batch_size) for t in transcripts])
    places = [np.flatnonzero(lengths == length) for length in np.unique(lengths)]
    parts = []
    for place in places:
        x, y, weight = _tables([transcripts[int(i)] for i in place], int(lengths[place[0]]))
        begin = None if start is None else jax.tree.map(lambda part, p=place: np.asarray(part)[p], start)
        parts.append(fit_many(keys[place], x, y, weight, config, begin))
    back = np.argsort(np.concatenate(places))
    networks: mlp.Mlp = jax.tree.map(lambda *part: np.concatenate(part)[back], *parts)
    return networks


def unstack(networks: mlp.Mlp) -> list[JaxClassifier]:
    """Return stacked networks (k, ...) as k classifiers."""
    parts = jax.tree.map(np.asarray, networks)
    return [
        JaxClassifier(mlp.logits, jax.tree.map(lambda part, i=i: part[i], parts))
        for i in range(len(parts.weights[0]))
    ]


def agreement(suspect: Classifier, classifier: Classifier, x: FloatArray) -> float:
    """Return the share of rows to which both give the same class: ``x`` are rows that nobody queried."""
    return float((predict(suspect, x) == predict(classifier, x)).mean())


def agreements(networks: mlp.Mlp, classifier: Classifier, x: FloatArray) -> NDArray[np.float64]:
    """Return the (k,) agreements of stacked networks (k, ...)."""
    logits = np.asarray(_logits(networks, x))
    same: NDArray[np.bool_] = (logits[:, :, 1] > logits[:, :, 0]) == (predict(classifier, x) == 1)[None]
    shares: NDArray[np.float64] = same.mean(axis=1)
    return shares


_logits = jax.jit(jax.vmap(mlp.logits, (0, None)))


def _length(rows: int, batch_size: int) -> int:
    """Return the next of 1, 2, 3, 4, 6, 8, 12, 16, ... batches that holds the rows."""
    batches = max(1, -(-rows // batch_size))
    power = 1 << (batches - 1).bit_length()
    return batch_size * (power * 3 // 4 if power >= 4 and batches <= power * 3 // 4 else power)


def _tables(transcripts: Sequence[Transcript], rows: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows (k, n, d), labels (k, n, 2) and weights (k, n)."""
    many, width = len(transcripts), transcripts[0].x.shape[1]
    x, y = np.zeros((many, rows, width), np.float32), np.zeros((many, rows, 2), np.float32)
    weight = np.zeros((many, rows), np.float32)
    for i, transcript in enumerate(transcripts):
        r = len(transcript.x)
        x[i, :r], y[i, :r], weight[i, :r] = transcript.x, transcript.y, 1
    return x, y, weight


def weighted(transcript: Transcript) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.float64]]:
    """Return every row twice, once a class (2r,), weighted by its probability; rows of weight 0 left out."""
    x = np.concatenate([transcript.x, transcript.x])
    y = np.repeat([0, 1], len(transcript.x))
    weight = np.concatenate([transcript.y[:, 0], transcript.y[:, 1]]).astype(np.float64)
    seen = weight > 0
    return x[seen], y[seen], weight[seen]


def _estimator(seed: int, transcript: Transcript, family: str) -> Estimator:
    """Fit one model; on a single class it is a constant, and on nothing it is undecided.

    Boosting draws rows and columns: two seeds give two models, as in every family but logistic.
    """
    x, y, weight = weighted(transcript)
    if not len(x):
        return Estimator(DummyClassifier().fit(np.zeros((2, transcript.x.shape[1])), [0, 1]))
    if len(np.unique(y)) == 1:
        return Estimator(DummyClassifier().fit(x, y))
    if family == "logistic":
        model = LogisticRegression(C=10.0, max_iter=200, solver="newton-cholesky")
    elif family == "forest":
        model = RandomForestClassifier(50, random_state=seed)
    else:
        model = GradientBoostingClassifier(subsample=0.8, max_features="sqrt", random_state=seed)
    return Estimator(model.fit(x, y, sample_weight=weight))
