"""DiCE: move n points together by gradient until they are of the target class, near the query and diverse.

The loss is the hinge of the target class's lead, the L1 distance to the query, and minus the log
determinant of the similarity kernel 1 / (1 + distance) of the n points. Categories are judged at their
hard values while their gradient passes through (straight-through), so a category flips once the others
have pushed it far enough. Points that fail start again from train rows of the target class. What is found
is then freed of needless changes and walked back to the boundary.

A model without gradients is distilled into a network first; the answers are judged by the model itself.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from cfmark.data import Dataset, Layout
from cfmark.errors import ConfigError
from cfmark.explainers.loop import Apply, Context, Run, Space, repeated, search
from cfmark.explainers.refine import VALID, distinct, project_rows, refine
from cfmark.models import DistilConfig, JaxClassifier, distil
from cfmark.types import BoolArray, Classifier, FloatArray, IntArray, predict

#: How far a model without gradients lets its answer be walked back towards the start.
WALK = (0.0, 0.25, 0.5, 0.75, 1.0)
#: How many train rows are kept to start again from, and how many of them a row looks at.
DONORS, LOTTERY = 4096, 16


@dataclass(frozen=True)
class DiceConfig:
    """What the gradient weighs, and how long it walks.

    Attributes
    ----------
    n_cfs
        Counterfactuals for each query, moved together.
    proximity, diversity
        Weights of the distance to the query and of the points' diversity, beside the hinge's 1.
    lead
        The hinge asks for a logit lead of the target class of so much.
    learning_rate, max_steps
        Of Adam; a row stops early when its points have been valid for ``patience`` steps.
    spread
        The standard deviation of the points' start around the query.
    restarts
        How often rows that are still missing start again, from train rows of the target class.
    refine
        Undo changes that are not needed, then walk back to the boundary.
    distil
        How a stand-in is made for a model without gradients.
    """

    n_cfs: int = 1
    proximity: float = 0.5
    diversity: float = 1.0
    lead: float = 0.1
    learning_rate: float = 0.05
    max_steps: int = 150
    patience: int = 60
    spread: float = 0.05
    restarts: int = 2
    refine: bool = True
    distil: DistilConfig = field(default_factory=DistilConfig)

    def __post_init__(self) -> None:
        if min(self.n_cfs, self.max_steps, self.patience) < 1 or self.restarts < 0:
            raise ConfigError("n_cfs, max_steps and patience must be at least 1, restarts not negative")
        if min(self.proximity, self.diversity, self.lead, self.spread) < 0 or self.learning_rate <= 0:
            raise ConfigError(
                "proximity, diversity, lead and spread must not be negative, learning_rate must be above 0"
            )


class Static(NamedTuple):
    """What shapes the compiled program."""

    config: DiceConfig
    layout: Layout


@dataclass(frozen=True, eq=False)
class Dice:
    """A fitted DiCE.

    Attributes
    ----------
    guide
        The network whose gradient is followed: the classifier itself, or its stand-in.
    agreement
        The share of holdout rows that guide and classifier class alike.
    donors
        Train rows (k, d) of class 0 and of class 1, from which a missing row starts again.
    """

    classifier: Classifier
    space: Space
    config: DiceConfig
    guide: JaxClassifier
    agreement: float
    donors: tuple[FloatArray, FloatArray]

    def search(self, keys: jax.Array, x: FloatArray, target: IntArray) -> tuple[FloatArray, BoolArray]:
        """Look for counterfactuals; see ``types.Explainer``."""
        static = Static(self.config, self.space.layout)
        context = Context(keys, jnp.asarray(x), jnp.asarray(target), self.space.rules)
        cf = np.zeros((len(x), self.config.n_cfs, x.shape[1]), np.float32)
        found = np.zeros(cf.shape[:2], bool)
        for attempt in range(1 + self.config.restarts):
            start = _start(static, context, attempt, self.donors)
            points, valid = self._descend(static, context, start)
            new = valid & ~found
            cf, found = np.where(new[:, :, None], points, cf), found | new
            if found.all():
                break
        return self._refined(keys, x, target, cf, found) if self.config.refine else (cf, found)

    def _descend(self, static: Static, context: Context, start: jax.Array) -> tuple[FloatArray, BoolArray]:
        end = _descend(self.guide.apply, static, self.guide.params, context, start)
        points, valid = np.asarray(end.cf), np.asarray(end.valid)
        if self.guide is self.classifier:
            return points, valid
        return self._judged(static, context, points, start)

    def _judged(
        self, static: Static, context: Context, points: FloatArray, start: jax.Array
    ) -> tuple[FloatArray, BoolArray]:
        """Walk from the guide's answer back to the start until the model itself agrees."""
        n, m, d = points.shape
        target = np.asarray(context.target)[:, None]
        chosen, done = points, np.zeros((n, m), bool)
        for share in WALK:
            moved = jnp.asarray(points) * (1 - share) + start * share
            candidates = np.asarray(project_rows(static.layout, context, moved))
            classes = predict(self.classifier, candidates.reshape(n * m, d)).reshape(n, m)
            new = (classes == target) & ~done
            chosen, done = np.where(new[:, :, None], candidates, chosen), done | new
        return chosen, done

    def _refined(
        self, keys: jax.Array, x: FloatArray, target: IntArray, cf: FloatArray, found: BoolArray
    ) -> tuple[FloatArray, BoolArray]:
        m = self.config.n_cfs
        ends = jnp.asarray(cf.reshape(len(x) * m, -1)), jnp.asarray(found.reshape(-1))
        context = repeated(keys, x, target, m, self.space.rules, ends)
        static = Static(replace(self.config, n_cfs=1), self.space.layout)
        return distinct(search(_refine, self.classifier, static, context), cf, m), found


class Descent(NamedTuple):
    """Points (n, m, d) on their way, Adam's moments, and the best set so far of each row: its points
    (n, m, d), which are valid (n, m), its loss (n,), and the steps (n,) since all were.

    A row stops by itself, whatever its neighbours do.
    """

    z: jax.Array
    mean: jax.Array
    square: jax.Array
    cf: jax.Array
    valid: jax.Array
    loss: jax.Array
    step: jax.Array
    settled: jax.Array


def fit(key: jax.Array, dataset: Dataset, classifier: Classifier, config: DiceConfig | None = None) -> Dice:
    """Return the explainer; a classifier without gradients is distilled into a network first."""
    config = config or DiceConfig()
    if isinstance(classifier, JaxClassifier):
        guide, agreement = classifier, 1.0
    else:
        guide, agreement = distil(key, classifier, dataset, config.distil)
    rows = dataset.train.x[:DONORS]
    classes = predict(classifier, rows)
    donors = rows[classes == 0], rows[classes == 1]
    return Dice(classifier, Space.of(dataset), config, guide, agreement, donors)


def _start(
    static: Static, context: Context, attempt: int, donors: tuple[FloatArray, FloatArray]
) -> jax.Array:
    """Return (n, m, d) points: around the query at first, then near train rows of the target class."""
    x, m = context.x[:, None, :], static.config.n_cfs
    keys = jax.vmap(jax.random.fold_in, (0, None))(context.keys, attempt)
    shape = (m, context.x.shape[1])
    if attempt == 0:
        noise = jax.vmap(lambda key: jax.random.normal(key, shape))(keys)
        scalar = jnp.arange(shape[1]) < static.layout.scalars
        return x + static.config.spread * noise * scalar[None, None, :]
    if min(map(len, donors)) == 0:
        return jax.vmap(lambda key: jax.random.uniform(key, shape))(keys)
    picks = [_nearby(keys, context.x, rows, m) for rows in donors]
    return jnp.where((context.target == 1)[:, None, None], picks[1], picks[0])


def _nearby(keys: jax.Array, x: jax.Array, rows: FloatArray, m: int) -> jax.Array:
    """Return for each query the nearest of some random rows, m times."""
    numbers = jax.vmap(lambda key: jax.random.randint(key, (m, LOTTERY), 0, len(rows)))(keys)
    drawn = jnp.asarray(rows)[numbers]
    nearest = jnp.abs(drawn - x[:, None, None, :]).sum(axis=3).argmin(axis=2)
    return jnp.take_along_axis(drawn, nearest[:, :, None, None], axis=2)[:, :, 0]


@partial(jax.jit, static_argnums=(0, 1))
def _descend(apply: Apply, static: Static, params: Any, context: Context, start: jax.Array) -> Descent:
    config = static.config
    gradient = jax.grad(_loss, has_aux=True)

    def step(state: Descent) -> Descent:
        slope, (served, valid, loss) = gradient(state.z, apply, static, params, context)
        walking = state.settled < config.patience
        count = state.step + 1
        mean = 0.9 * state.mean + 0.1 * slope
        square = 0.999 * state.square + 0.001 * slope**2
        scale = jnp.sqrt(square / (1 - 0.999**count)) + 1e-8
        z = jnp.clip(state.z - config.learning_rate * mean / (1 - 0.9**count) / scale, 0, 1)
        more, as_many = (compare(valid.sum(1), state.valid.sum(1)) for compare in (jnp.greater, jnp.equal))
        better = (more | (as_many & (loss < state.loss))) & walking
        cf = jnp.where(better[:, None, None], served, state.cf)
        valid = jnp.where(better[:, None], valid, state.valid)
        loss = jnp.where(better, loss, state.loss)
        settled = jnp.where(valid.all(axis=1), state.settled + 1, 0)
        return Descent(z, mean, square, cf, valid, loss, count, settled)

    def active(state: Descent) -> jax.Array:
        return (state.step < config.max_steps) & (state.settled < config.patience).any()

    n, m, _ = start.shape
    zero, none, far = jnp.zeros_like(start), jnp.zeros((n, m), bool), jnp.full(n, jnp.inf)
    begin = Descent(start, zero, zero, zero, none, far, jnp.array(0), jnp.zeros(n, int))
    end: Descent = jax.lax.while_loop(active, step, begin)
    return end


def _loss(
    z: jax.Array, apply: Any, static: Static, params: Any, context: Context
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    """Return the loss summed over rows; and the served points, which are valid, and the loss of each row."""
    config = static.config
    served = project_rows(static.layout, context, z)
    through = z + jax.lax.stop_gradient(served - z)
    logits = apply(params, through)
    gap = logits[:, :, 1] - logits[:, :, 0]
    gap = jnp.where(context.target[:, None] == 1, gap, -gap)
    distance = jnp.abs(through - context.x[:, None, :]).sum(axis=2)
    loss = (jnp.maximum(config.lead - gap, 0) + config.proximity * distance).sum(axis=1)
    if config.n_cfs > 1:
        loss -= config.diversity * _log_determinant(through)
    return loss.sum(), (served, jax.nn.sigmoid(gap) > VALID, loss)


def _log_determinant(points: jax.Array) -> jax.Array:
    """Return (n,) the log determinant of the points' similarity kernel, for points (n, m, d)."""
    apart = jnp.abs(points[:, :, None, :] - points[:, None, :, :]).sum(axis=3)
    kernel = 1 / (1 + apart) + 1e-3 * jnp.eye(points.shape[1])[None]
    logarithm: jax.Array = jnp.linalg.slogdet(kernel)[1]
    return logarithm


def _refine(run: Run, static: Static, context: Context) -> jax.Array:
    return refine(run, static, context, *context.extra)
