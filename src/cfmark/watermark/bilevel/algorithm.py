"""Algorithm 1 as two compiled programs: the benign ensemble, and theta for one batch of counterfactuals.

At each of T outer steps an ensemble of imagined thieves takes K unrolled Adam steps on queries, background
rows and marked counterfactuals (Eq. 5), an ensemble of benign models takes K on queries and background
alone (Eq. 6), and theta takes one sign step along the gradient of Eq. 4, which runs back through the
thieves' K steps. The benign models do not depend on theta, so one trajectory of them serves every batch.
The members of an ensemble take their turns: what is kept of K steps for the way back is then one member's.
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
from cfmark.watermark.bilevel.gradient import Rows, answers
from cfmark.watermark.bilevel.losses import Form, difference
from cfmark.watermark.bilevel.thief import Thief

#: The owner's model: logits (n, 2) of rows (n, d).
Apply = Callable[[Any, jax.Array], jax.Array]
Pair = tuple[jax.Array, jax.Array]


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
    """Return the benign ensemble's networks (T, e, p) after each outer step, trained on the rows ``x``."""
    rows = _joined(Rows(x.T, jax.nn.softmax(apply(params, x)).T, jnp.ones(len(x))))

    def outer(model: Thief, _: None) -> tuple[Thief, jax.Array]:
        model = thief.unroll(model, rows, plan.sizes, plan.unroll, knobs.learning_rate)
        return model, model.network

    def one(model: Thief) -> jax.Array:
        return jax.lax.scan(outer, model, None, length=plan.steps)[1]

    networks: jax.Array = jax.lax.map(one, thief.start(key, plan.ensemble, plan.sizes))
    return networks.swapaxes(0, 1)


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
    climb = partial(_climb, plan, knobs, batch, _given(apply, params, batch))

    def owner(rows: jax.Array) -> jax.Array:
        return jax.nn.log_softmax(apply(params, rows.T)).T

    def outer(carry: tuple[jax.Array, Thief], models: jax.Array) -> tuple[tuple[jax.Array, Thief], Curves]:
        theta, thieves = carry
        slope, thieves, curves = climb(owner, theta, thieves, models)
        return (inside(theta + knobs.sign_step * jnp.sign(slope), bounds), thieves), curves

    begin = jnp.zeros_like(batch.cf)
    if plan.start == "uniform":
        begin = jax.random.uniform(key_start, begin.shape, minval=-knobs.delta, maxval=knobs.delta)
    start = inside(begin, bounds), thief.start(key_models, plan.ensemble, plan.sizes)
    (theta, _), curves = jax.lax.scan(outer, start, innocent)
    return theta, curves


def _climb(
    plan: Plan,
    knobs: Knobs,
    batch: Batch,
    given: Rows,
    owner: Callable[[jax.Array], jax.Array],
    theta: jax.Array,
    thieves: Thief,
    models: jax.Array,
) -> tuple[jax.Array, Thief, Curves]:
    """Return the gradient (b, d) of Eq. 4, the thieves after K steps on the marked rows, and the losses.

    ``owner`` gives log-probabilities (2, n) of rows (d, n). Marked rows reach Eq. 4 in two ways, as points
    and through the labels that the owner gives them; the derivatives by both are gathered before the one way
    back through the owner.
    """
    cf, marked = batch.cf.T, (batch.cf + theta).T
    labels, through_owner = jax.vjp(owner, marked)
    compare = partial(_compare, batch)

    def poison(marked: jax.Array, labels: jax.Array, one: Thief) -> tuple[jax.Array, Thief]:
        rows = _joined(given, Rows(marked, jnp.exp(labels), batch.weight))
        one = thief.unroll(one, rows, plan.sizes, plan.unroll, knobs.learning_rate)
        answered = partial(answers, plan.sizes, one.network)
        return compare(plan.poison_form, answered(marked), answered(cf)), one

    def turn(total: Pair, one: Thief) -> tuple[Pair, tuple[Thief, jax.Array]]:
        (loss, one), by = jax.value_and_grad(poison, (0, 1), has_aux=True)(marked, labels, one)
        return jax.tree.map(jnp.add, total, by), (one, loss)

    def usability(marked: jax.Array, labels: jax.Array) -> tuple[jax.Array, Pair]:
        validity = compare(plan.validity_form, labels, owner(cf))
        of_models = jax.vmap(partial(answers, plan.sizes), (0, None))
        both = jax.vmap(partial(compare, "log"))(of_models(models, marked), of_models(models, cf))
        return knobs.validity * validity + knobs.regularisation * both.mean(), (validity, both.mean())

    nothing = jnp.zeros_like(marked), jnp.zeros_like(labels)
    gained, (thieves, poisons) = jax.lax.scan(turn, nothing, thieves)
    lost, (validity, regularisation) = jax.grad(usability, (0, 1), has_aux=True)(marked, labels)
    share = knobs.poison / plan.ensemble
    by_marked, by_labels = jax.tree.map(lambda gain, loss: share * gain - loss, gained, lost)
    slope = by_marked + through_owner(by_labels)[0]
    return slope.T, thieves, Curves(poisons.mean(), validity, regularisation)


def _compare(batch: Batch, form: Form, marked: jax.Array, unmarked: jax.Array) -> jax.Array:
    """Return the mean over the rows of how much a model prefers the marked ones; log-probabilities (2, b)."""
    return (difference(form, marked, unmarked, batch.target) * batch.weight).sum() / batch.weight.sum()


def _given(apply: Apply, params: Any, batch: Batch) -> Rows:
    """Return what does not depend on theta: queries and background with the owner's answers."""
    points = jnp.concatenate([batch.x, batch.background])
    weight = jnp.concatenate([batch.weight, jnp.ones(len(batch.background))])
    return Rows(points.T, jax.nn.softmax(apply(params, points)).T, weight)


def _joined(*parts: Rows) -> Rows:
    """Return all rows, with weights that sum to 1."""
    rows = Rows(*(jnp.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True)))
    return rows._replace(weight=rows.weight / rows.weight.sum())
