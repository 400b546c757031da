"""One way to run a search: inside a single compiled program, or beside a model that can only be asked.

A method is a ``pipeline(run, static, context)`` that calls ``run(phase, state)`` for each of its phases. A
phase proposes points, learns how probable the target class is at each, and settles what that means. For a
``JaxClassifier`` the whole pipeline is one jitted program with while loops that stop as soon as no row is
active; for a black box the same functions run step by step around calls to the model.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cfmark.data import Dataset, Layout, Rules, rules_of
from cfmark.models import JaxClassifier
from cfmark.types import Classifier, FloatArray, IntArray

#: Half the compile time of the compiler's own choice, and equally fast programs with the same answers.
QUICK = {"xla_backend_optimization_level": 1}


class Phase(NamedTuple):
    """A loop of at most ``limit`` steps; every function gets (static, context, state) first."""

    propose: Callable[[Any, Any, Any], jax.Array]
    settle: Callable[[Any, Any, Any, jax.Array, jax.Array], Any]
    active: Callable[[Any, Any, Any], jax.Array]
    limit: int


class Context(NamedTuple):
    """What a search knows of its n rows: PRNG keys, queries, target classes, the schema's limits, extras."""

    keys: jax.Array
    x: jax.Array
    target: jax.Array
    rules: Rules
    extra: Any = None


Run = Callable[[Phase, Any], Any]
Pipeline = Callable[[Run, Any, Context], Any]
Apply = Callable[[Any, jax.Array], jax.Array]


class Space(NamedTuple):
    """The encoded space of a schema: its limits as arrays, and what shapes a program."""

    rules: Rules
    layout: Layout

    @classmethod
    def of(cls, dataset: Dataset) -> "Space":
        """Return the space of a data set."""
        return cls(*rules_of(dataset.encoder))


def repeated(
    keys: jax.Array, x: FloatArray, target: IntArray, times: int, rules: Rules, extra: Any = None
) -> Context:
    """Return a context in which every row stands ``times`` times, each with a key of its own."""
    each = jax.vmap(lambda key: jax.random.split(key, times))(keys).reshape(-1)
    rows, classes = np.repeat(x, times, axis=0), np.repeat(target, times)
    return Context(each, jnp.asarray(rows), jnp.asarray(classes), rules, extra)


def search(pipeline: Pipeline, classifier: Classifier, static: Any, context: Context) -> Any:
    """Run a pipeline against a classifier and return what it returns, as NumPy arrays."""
    if isinstance(classifier, JaxClassifier):
        result = _traced(pipeline, classifier.apply, static, classifier.params, context)
    else:
        result = pipeline(partial(_hosted, classifier, static, context), static, context)
    return jax.tree.map(np.asarray, result)


@partial(jax.jit, static_argnums=(0, 1, 2), compiler_options=QUICK)
def _traced(pipeline: Pipeline, apply: Apply, static: Any, params: Any, context: Context) -> Any:
    def run(phase: Phase, state: Any) -> Any:
        def body(carry: tuple[jax.Array, Any]) -> tuple[jax.Array, Any]:
            count, state = carry
            points = phase.propose(static, context, state)
            p = target_probability(apply(params, points), context.target)
            return count + 1, phase.settle(static, context, state, points, p)

        def active(carry: tuple[jax.Array, Any]) -> jax.Array:
            return (carry[0] < phase.limit) & phase.active(static, context, carry[1]).any()

        return jax.lax.while_loop(active, body, (jnp.array(0), state))[1]

    return pipeline(run, static, context)


def _hosted(classifier: Classifier, static: Any, context: Context, phase: Phase, state: Any) -> Any:
    for _ in range(phase.limit):
        if not bool(_call(phase.active, static, context, state).any()):
            break
        points = _call(phase.propose, static, context, state)
        p = asked(classifier, np.asarray(points), np.asarray(context.target))
        state = _call(phase.settle, static, context, state, points, jnp.asarray(p))
    return state


@partial(jax.jit, static_argnums=(0, 1))
def _call(function: Callable[..., Any], static: Any, *arguments: Any) -> Any:
    return function(static, *arguments)


def asked(classifier: Classifier, points: FloatArray, target: IntArray) -> FloatArray:
    """Ask a classifier for the (n, m) probability of each row's target class at the points (n, m, d)."""
    n, m, d = points.shape
    p = classifier.predict_proba(points.reshape(n * m, d)).reshape(n, m, 2)
    return np.where(target[:, None] == 1, p[:, :, 1], 1 - p[:, :, 1]).astype(np.float32)


def target_probability(logits: jax.Array, target: jax.Array) -> jax.Array:
    """Return the (n, m) probability of each row's target class from logits (n, m, 2)."""
    gap = logits[:, :, 1] - logits[:, :, 0]
    return jax.nn.sigmoid(jnp.where(target[:, None] == 1, gap, -gap))
