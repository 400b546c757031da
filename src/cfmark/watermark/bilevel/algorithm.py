"""Algorithm 1 as two compiled programs: the benign ensemble, and theta for one batch of counterfactuals.

At each of T outer steps an ensemble of imagined thieves takes K unrolled Adam steps on queries, background
rows and marked counterfactuals (Eq. 5), an ensemble of benign models takes K on queries and background
alone (Eq. 6), and theta takes one sign step along the gradient of Eq. 4, which runs back through the
thieves' K steps. The benign models do not depend on theta, so one trajectory of them serves every batch.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from cfmark.data import Layout, Rules
from cfmark.watermark.bilevel import thief
from cfmark.watermark.bilevel.bounds import bounds_of, inside
from cfmark.watermark.bilevel.config import Knobs, Plan
from cfmark.watermark.bilevel.gradient import Rows, answers, unpack
from cfmark.watermark.bilevel.losses import Form, difference
from cfmark.watermark.bilevel.thief import Thieves

#: The owner's model: logits (n, 2) of rows (n, d).
Apply = Callable[[Any, jax.Array], jax.Array]


class Batch(NamedTuple):
    """Rows (b, d) of one batch: queries, counterfactuals, target classes, and weight 0 for padding."""

    key: jax.Array
    x: jax.Array
    cf: jax.Array
    target: jax.Array
    weight: jax.Array
    background: jax.Array


class Curves(NamedTuple):
    """The three losses (T,) of a batch at each outer step, before the step."""

    poison: jax.Array
    validity: jax.Array
    regularisation: jax.Array


@partial(jax.jit, static_argnums=(0, 1))
def benign(apply: Apply, plan: Plan, params: Any, knobs: Knobs, key: jax.Array, x: jax.Array) -> jax.Array:
    """Return the benign ensemble's weights (T, e, p) after each outer step, trained on the rows ``x``."""
    rows = _labelled(apply, params, x, jnp.ones(len(x)))

    def outer(models: Thieves, _: None) -> tuple[Thieves, jax.Array]:
        models = thief.unroll(models, rows, plan.sizes, plan.unroll, knobs.learning_rate)
        return models, models.weights

    models = thief.start(key, plan.ensemble, plan.sizes)
    return jax.lax.scan(outer, models, None, length=plan.steps)[1]


@partial(jax.jit, static_argnums=(0, 1, 2))
def mark(
    apply: Apply,
    plan: Plan,
    layout: Layout,
    params: Any,
    rules: Rules,
    knobs: Knobs,
    batch: Batch,
    innocent: jax.Array,
) -> tuple[jax.Array, Curves]:
    """Run Algorithm 1 on one batch: theta (b, d) and the loss curves. ``innocent`` is from ``benign``."""
    key_start, key_models = jax.random.split(batch.key)
    bounds = bounds_of(rules, layout, batch.x, batch.cf, knobs.delta, knobs.proximity)
    weight = jnp.concatenate([batch.weight, jnp.ones(len(batch.background))])
    given = _labelled(apply, params, jnp.concatenate([batch.x, batch.background]), weight)
    objective = partial(_objective, partial(apply, params), plan, knobs, batch, given)

    def outer(
        carry: tuple[jax.Array, Thieves], models: jax.Array
    ) -> tuple[tuple[jax.Array, Thieves], Curves]:
        theta, thieves = carry
        slope, (thieves, curves) = jax.grad(objective, has_aux=True)(theta, thieves, models)
        return (inside(theta + knobs.sign_step * jnp.sign(slope), bounds), thieves), curves

    begin = jnp.zeros_like(batch.cf)
    if plan.start == "uniform":
        begin = jax.random.uniform(key_start, begin.shape, minval=-knobs.delta, maxval=knobs.delta)
    start = inside(begin, bounds), thief.start(key_models, plan.ensemble, plan.sizes)
    (theta, _), curves = jax.lax.scan(outer, start, innocent)
    return theta, curves


def _labelled(apply: Apply, params: Any, x: jax.Array, weight: jax.Array) -> Rows:
    """Return rows ``x`` (n, d) with the owner's answers as labels."""
    return Rows(x.T, jax.nn.softmax(apply(params, x)).T, weight)


def _objective(
    owner: Callable[[jax.Array], jax.Array],
    plan: Plan,
    knobs: Knobs,
    batch: Batch,
    given: Rows,
    theta: jax.Array,
    thieves: Thieves,
    models: jax.Array,
) -> tuple[jax.Array, tuple[Thieves, Curves]]:
    """Return Eq. 4 for a batch after the thieves' K steps on the rows that are given and the marked ones."""
    both = jnp.concatenate([batch.cf + theta, batch.cf])
    of_owner = jax.nn.log_softmax(owner(both)).T
    marked = Rows(both[: len(theta)].T, jnp.exp(of_owner[:, : len(theta)]), batch.weight)
    rows = Rows(*(jnp.concatenate(parts, axis=-1) for parts in zip(given, marked, strict=True)))
    rows = rows._replace(weight=rows.weight / rows.weight.sum())
    thieves = thief.unroll(thieves, rows, plan.sizes, plan.unroll, knobs.learning_rate)
    compare = partial(_compare, batch)
    poison = compare(plan.poison_form, answers(unpack(thieves.weights, plan.sizes), both.T))
    validity = compare(plan.validity_form, of_owner[None])
    regularisation = compare("log", answers(unpack(models, plan.sizes), both.T))
    total = knobs.poison * poison - knobs.validity * validity - knobs.regularisation * regularisation
    return total, (thieves, Curves(poison, validity, regularisation))


def _compare(batch: Batch, form: Form, answered: jax.Array) -> jax.Array:
    """Return the mean, over rows and models, of how much the answers (e, 2, 2b) prefer the marked half."""
    marked, unmarked = jnp.split(answered, 2, axis=2)
    each = jax.vmap(partial(difference, form), (0, 0, None))(marked, unmarked, batch.target)
    return (each * batch.weight[None, :]).sum() / (batch.weight.sum() * len(each))
