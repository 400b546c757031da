"""The models a thief trains on its transcript: networks, many at once, and scikit-learn's families."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from cfmark.errors import ConfigError
from cfmark.models import JaxClassifier, TrainConfig, fit_many, mlp
from cfmark.types import Classifier, FloatArray, Transcript

Family = Literal["mlp", "mlp_small", "mlp_large", "logistic", "forest", "boosting"]
NETWORKS = {"mlp": (64, 32, 16), "mlp_small": (16, 8), "mlp_large": (256, 128, 64)}
TREES = ("logistic", "forest", "boosting")
FAMILIES = (*NETWORKS, *TREES)


def train_config(family: str) -> TrainConfig:
    """Return a thief network's training: Adam at 1e-2, 100 epochs of batches of 32, dropout .3."""
    return TrainConfig(hidden=NETWORKS[family], learning_rate=0.01, epochs=100, batch_size=32)


@dataclass(frozen=True, eq=False)
class Estimator:
    """A fitted scikit-learn classifier on encoded rows."""

    model: Any

    def predict_proba(self, x: FloatArray) -> FloatArray:
        """Return (n, 2) probabilities; a model that saw one class says so."""
        answers = self.model.predict_proba(np.asarray(x))
        probabilities = np.zeros((len(x), 2), np.float32)
        probabilities[:, self.model.classes_] = answers
        return probabilities


def extract(key: jax.Array, transcript: Transcript, family: str = "mlp") -> Classifier:
    """Train one model on a transcript."""
    return extract_many(key[None], [transcript], family)[0]


def extract_many(keys: jax.Array, transcripts: Sequence[Transcript], family: str = "mlp") -> list[Classifier]:
    """Train a model for each transcript; networks all at once."""
    if family in NETWORKS:
        stacked = train_networks(keys, transcripts, train_config(family))
        unstacked = jax.tree.map(np.asarray, stacked)
        return [
            JaxClassifier(mlp.logits, jax.tree.map(lambda a, i=i: a[i], unstacked)) for i in range(len(keys))
        ]
    if family not in TREES:
        raise ConfigError(f"there is no thief model {family!r}; the models are {', '.join(FAMILIES)}")
    return [_estimator(key, transcript, family) for key, transcript in zip(keys, transcripts, strict=True)]


def train_networks(keys: jax.Array, transcripts: Sequence[Transcript], config: TrainConfig) -> mlp.Mlp:
    """Return stacked networks (k, ...), one for each transcript; shorter ones are padded with weight 0."""
    rows = max(len(t.x) for t in transcripts)
    rows = -(-rows // config.batch_size) * config.batch_size
    width = transcripts[0].x.shape[1]
    x, y = np.zeros((len(keys), rows, width), np.float32), np.zeros((len(keys), rows, 2), np.float32)
    weight = np.zeros((len(keys), rows), np.float32)
    for i, transcript in enumerate(transcripts):
        r = len(transcript.x)
        x[i, :r], y[i, :r], weight[i, :r] = transcript.x, transcript.y, 1
    networks: mlp.Mlp = fit_many(keys, x, y, weight, config)
    return networks


def _estimator(key: jax.Array, transcript: Transcript, family: str) -> Estimator:
    """Fit on every row twice, once a class, weighted by its probability."""
    seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
    x = np.concatenate([transcript.x, transcript.x])
    y = np.repeat([0, 1], len(transcript.x))
    weight = np.concatenate([transcript.y[:, 0], transcript.y[:, 1]]).astype(np.float64)
    seen = weight > 0
    model = {
        "logistic": lambda: LogisticRegression(C=10.0, max_iter=2000),
        "forest": lambda: RandomForestClassifier(100, random_state=seed),
        "boosting": lambda: GradientBoostingClassifier(random_state=seed),
    }[family]()
    if len(np.unique(y[seen])) == 1:
        from sklearn.dummy import DummyClassifier

        model = DummyClassifier()
    return Estimator(model.fit(x[seen], y[seen], sample_weight=weight[seen]))
