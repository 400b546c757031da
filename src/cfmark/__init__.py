"""Watermark counterfactual explanations, and prove which models were trained on them.

The front door: these names, and the rooms ``cfmark.data``, ``cfmark.models``, ``cfmark.explainers`` and
``cfmark.evaluation``. Rooms are imported when they are first used, so what needs no JAX runs without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfmark.data import load as load
    from cfmark.data import load_table as load_table
    from cfmark.errors import CfmarkError as CfmarkError
    from cfmark.evaluation import quality as quality
    from cfmark.explainers import explain as explain
    from cfmark.explainers import fit_explainer as fit_explainer
    from cfmark.models import adapt as adapt
    from cfmark.models import fit_classifier as fit_classifier

_ROOM_OF = {
    "CfmarkError": "errors",
    "adapt": "models",
    "explain": "explainers",
    "fit_classifier": "models",
    "fit_explainer": "explainers",
    "load": "data",
    "load_table": "data",
    "quality": "evaluation",
}

__all__ = [
    "CfmarkError",
    "adapt",
    "explain",
    "fit_classifier",
    "fit_explainer",
    "load",
    "load_table",
    "quality",
]


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(import_module(f"cfmark.{_ROOM_OF[name]}"), name)
    if name in ("data", "errors", "evaluation", "explainers", "models"):
        return import_module(f"cfmark.{name}")
    raise AttributeError(f"module 'cfmark' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
