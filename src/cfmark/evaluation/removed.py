"""Thieves that try to lose the mark, each at several strengths, from the very same training."""

from collections.abc import Sequence

import jax
import numpy as np

from cfmark.attacks import averaging, clean, finetune, noise, prune, rounding, unstack
from cfmark.data import Dataset
from cfmark.errors import ConfigError
from cfmark.evaluation.settings import Unit
from cfmark.evaluation.suspects import Kind, Suspect, keys_of, train
from cfmark.models import mlp
from cfmark.types import FloatArray, Oracle, Transcript

#: What is done to networks after their training; the rest is done to transcripts before it.
AFTERWARDS = ("finetune", "prune")


def removed(
    unit: Unit, kinds: Sequence[Kind], oracle: Oracle, x: FloatArray, dataset: Dataset
) -> list[Suspect]:
    """Return every kind's suspects at every strength of the unit's removal; none where nothing is removed."""
    settings = unit.settings
    if settings.removal in AFTERWARDS:
        return _afterwards(unit, kinds, oracle, x)
    scalars = len(dataset.encoder.scalars)
    return [
        suspect
        for strength in settings.strengths
        for suspect in train(unit, [_treated(unit, kind, strength, scalars) for kind in kinds], strength)
    ]


def _treated(unit: Unit, kind: Kind, strength: float, scalars: int) -> Kind:
    return kind._replace(transcript=_changed(unit, kind, strength, scalars)) if strength else kind


def _changed(unit: Unit, kind: Kind, strength: float, scalars: int) -> Transcript:
    if unit.settings.removal == "noise":
        key = jax.random.key(unit.seed("noise", kind.suspect, kind.labels))
        return noise(key, kind.transcript, strength, scalars)
    if unit.settings.removal == "round":
        return rounding(kind.transcript, strength, scalars)
    return averaging(kind.transcript, int(strength), scalars)


def _afterwards(unit: Unit, kinds: Sequence[Kind], oracle: Oracle, x: FloatArray) -> list[Suspect]:
    """Fine-tune on the queries and the service's answers to them, or prune."""
    if any(kind.family != "mlp" for kind in kinds):
        raise ConfigError(f"{unit.cell}: only networks can be treated with {unit.settings.removal!r}")
    trained = train(unit, kinds)
    each = [(suspect.kind, suspect.number) for suspect in trained]
    networks = _stacked(trained)
    rows = clean("answers", oracle, x, np.zeros(0, np.int64))
    keys = jax.vmap(jax.random.fold_in, (0, None))(keys_of(unit, each), 1)
    found = []
    for strength in unit.settings.strengths:
        if unit.settings.removal == "prune":
            treated = prune(networks, strength)
        else:
            treated = finetune(keys, networks, [rows] * len(each), int(strength))
        models = unstack(treated)
        found += [Suspect(*place, model, strength) for place, model in zip(each, models, strict=True)]
    return found


def _stacked(suspects: Sequence[Suspect]) -> mlp.Mlp:
    networks = [suspect.model.params for suspect in suspects]  # type: ignore[attr-defined]
    stacked: mlp.Mlp = jax.tree.map(lambda *parts: np.stack([np.asarray(part) for part in parts]), *networks)
    return stacked
