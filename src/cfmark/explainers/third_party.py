"""Any other counterfactual generator as an Explainer: a function on tables, or dice-ml.

What comes back is projected onto the schema and judged by the model like everybody's answers, so a
generator that breaks a bound or misses the class gives rows that are not found.
"""

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from cfmark._optional import optional
from cfmark.data import Dataset, Encoder, Feature
from cfmark.errors import ModelError
from cfmark.explainers.loop import Context, Space
from cfmark.explainers.refine import project_rows
from cfmark.types import BoolArray, Classifier, FloatArray, IntArray, predict

#: Takes a table of queries, the (n,) class each asks for and a seed; returns a table of m answers a query,
#: in the queries' order (n * m rows), a row of NaN where there is none.
Generator = Callable[[pd.DataFrame, IntArray, int], pd.DataFrame]


@dataclass(frozen=True, eq=False)
class ThirdParty:
    """A generator of somebody else's."""

    classifier: Classifier
    space: Space
    encoder: Encoder
    generate: Generator
    n_cfs: int

    def search(self, keys: jax.Array, x: FloatArray, target: IntArray) -> tuple[FloatArray, BoolArray]:
        """Look for counterfactuals; see ``types.Explainer``.

        A query that stands twice is asked once. The generator's seed is drawn from the batch's first key.
        """
        seed = int(jax.random.randint(keys[0], (), 0, 2**31 - 1))
        n, m = len(x), self.n_cfs
        _, first, place = np.unique(x, axis=0, return_index=True, return_inverse=True)
        once = np.sort(first)
        answers = self.generate(self.encoder.decode(x[once]), target[once], seed)
        answers = self._checked(answers, len(once)).iloc[_spread(np.searchsorted(once, first)[place], m)]
        given = answers.notna().all(axis=1).to_numpy()
        cf = np.repeat(x, m, axis=0)
        if given.any():
            cf[given] = self._encoded(answers[given])
        context = Context(keys, jnp.asarray(x), jnp.asarray(target), self.space.rules)
        cf = np.asarray(project_rows(self.space.layout, context, jnp.asarray(cf.reshape(n, m, -1))))
        right = predict(self.classifier, cf.reshape(n * m, -1)) == np.repeat(target, m)
        return cf, (given & right).reshape(n, m)

    def _checked(self, answers: Any, queries: int) -> pd.DataFrame:
        """Return the schema's columns of as many rows as were asked for."""
        if not isinstance(answers, pd.DataFrame):
            raise ModelError(f"the generator gave a {type(answers).__name__}; a DataFrame is needed")
        names, rows = self.encoder.schema.names, queries * self.n_cfs
        if missing := [name for name in names if name not in answers]:
            raise ModelError(f"the generator's table has no column {', '.join(map(repr, missing[:5]))}")
        if len(answers) != rows:
            raise ModelError(
                f"the generator gave {len(answers)} rows to {queries} queries; {rows} are needed, "
                "a row of NaN where there is no answer"
            )
        return answers[names].reset_index(drop=True)

    def _encoded(self, answers: pd.DataFrame) -> FloatArray:
        """Encode answers; numbers outside the bounds are brought inside."""
        inside = answers.copy()
        for feature in self.encoder.schema.features:
            if feature.is_number:
                inside[feature.name] = _bounded(answers[feature.name], feature)
        return self.encoder.encode(inside, "generator")


def _bounded(column: "pd.Series[Any]", feature: Feature) -> "pd.Series[Any]":
    """Bring a column's numbers inside the bounds; text stays, for ``encode`` to refuse."""
    values = pd.to_numeric(column, errors="coerce")
    bounded = values.clip(feature.low, feature.high).where(~values.isin(feature.special), values)
    bounded = bounded.round() if feature.kind == "integer" else bounded
    return bounded if values.notna().all() else column


def _spread(places: IntArray, times: int) -> IntArray:
    """Return the rows of all answers to the queries at ``places``, where each query has ``times``."""
    return (places[:, None] * times + np.arange(times)[None]).reshape(-1)


def from_function(
    generate: Generator, dataset: Dataset, classifier: Classifier, n_cfs: int = 1
) -> ThirdParty:
    """Return an Explainer around a function on tables in the schema's own columns and units."""
    return ThirdParty(classifier, Space.of(dataset), dataset.encoder, generate, n_cfs)


def from_dice_ml(
    model: Any, dataset: Dataset, classifier: Classifier, method: str = "random", n_cfs: int = 1
) -> ThirdParty:
    """Return an Explainer around dice-ml's model-agnostic methods: random, genetic or kdtree.

    Parameters
    ----------
    model
        A scikit-learn estimator or pipeline fitted on the table's own columns and the labels 0 and 1.
    dataset, classifier
        The data set, and the same model as ``adapt`` returned it.
    method, n_cfs
        dice-ml's name of the method, and the answers for each query.
    """
    with optional("dice"):
        import dice_ml

    encoder, label = dataset.encoder, dataset.schema.target
    names = [f.name for f in dataset.schema.features if f.is_number]
    frame = encoder.decode(dataset.train.x).assign(**{label: dataset.train.y})
    tables = dice_ml.Data(dataframe=frame, continuous_features=names, outcome_name=label)
    engine = dice_ml.Dice(tables, dice_ml.Model(model=model, backend="sklearn"), method=method)

    def generate(queries: pd.DataFrame, target: IntArray, seed: int) -> pd.DataFrame:
        seeded = {"random_seed": seed} if method == "random" else {}
        found = [
            _one(engine, queries.iloc[[i]], int(target[i]), n_cfs, encoder.schema.names, seeded)
            for i in range(len(queries))
        ]
        return pd.concat(found, ignore_index=True)

    return from_function(generate, dataset, classifier, n_cfs)


def _one(
    engine: Any, query: pd.DataFrame, target: int, n_cfs: int, names: list[str], seeded: dict[str, int]
) -> pd.DataFrame:
    """Ask dice-ml for one row's answers; it raises where it finds none."""
    from raiutils.exceptions import UserConfigValidationException

    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            result = engine.generate_counterfactuals(
                query, total_CFs=n_cfs, desired_class=target, verbose=False, **seeded
            )
        answers = result.cf_examples_list[0].final_cfs_df
    except UserConfigValidationException:
        answers = None
    if answers is None:
        answers = pd.DataFrame(columns=names)
    padded: pd.DataFrame = answers[names].head(n_cfs).reset_index(drop=True).reindex(range(n_cfs))
    return padded
