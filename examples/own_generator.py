"""Any function from a table of queries to a table of answers as an Explainer, checked like the others."""

import jax
import numpy as np
import pandas as pd

import cfmark
from cfmark.explainers.third_party import from_function

dataset = cfmark.load("cancer")
classifier = cfmark.fit_classifier(jax.random.key(0), dataset)
examples = dataset.encoder.decode(dataset.train.x)


def typical(queries: pd.DataFrame, target: np.ndarray, seed: int) -> pd.DataFrame:
    """Answer every query with a train row of the class that it asks for."""
    random = np.random.default_rng(seed)
    of_class = [np.flatnonzero(dataset.train.y == label) for label in (0, 1)]
    return examples.iloc[[random.choice(of_class[label]) for label in target]]


explainer = from_function(typical, dataset, classifier)
explanations = cfmark.explain(jax.random.key(1), explainer, dataset.query.x[:16])
measured = cfmark.quality(explanations, dataset.encoder, classifier)
print(f"found {measured.found:.0%}, valid {measured.validity:.0%}, L1 {measured.l1:.2f}")
print(f"{measured.violations} violations: what the schema keeps was put back, and the model asked again")
