"""Watermark counterfactual explanations, and prove which models were trained on them.

The front door: these names, and the rooms ``data``, ``models``, ``explainers``, ``watermark``, ``attacks``,
``verification``, ``calibration`` and ``evaluation``. Rooms are imported when they are first used, so what
needs no JAX runs without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cfmark.attacks import extract as extract
    from cfmark.data import load as load
    from cfmark.data import load_table as load_table
    from cfmark.errors import CfmarkError as CfmarkError
    from cfmark.evaluation import quality as quality
    from cfmark.explainers import explain as explain
    from cfmark.explainers import fit_explainer as fit_explainer
    from cfmark.models import adapt as adapt
    from cfmark.models import fit_classifier as fit_classifier
    from cfmark.verification import verify as verify
    from cfmark.watermark import embed as embed

_ROOM_OF = {
    "CfmarkError": "errors",
    "adapt": "models",
    "embed": "watermark",
    "explain": "explainers",
    "extract": "attacks",
    "fit_classifier": "models",
    "fit_explainer": "explainers",
    "load": "data",
    "load_table": "data",
    "quality": "evaluation",
    "verify": "verification",
}

_ROOMS = (
    "attacks",
    "calibration",
    "data",
    "errors",
    "evaluation",
    "explainers",
    "models",
    "verification",
    "watermark",
)

__all__ = [
    "CfmarkError",
    "adapt",
    "embed",
    "explain",
    "extract",
    "fit_classifier",
    "fit_explainer",
    "load",
    "load_table",
    "quality",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(import_module(f"cfmark.{_ROOM_OF[name]}"), name)
    if name in _ROOMS:
        return import_module(f"cfmark.{name}")
    raise AttributeError(f"module 'cfmark' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
