"""The figures of an experiment, from its rows alone, as PNG files."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from cfmark.errors import ConfigError
from cfmark.evaluation.figures_ablations import data_augmentation, lambda3, loss_curves, removal
from cfmark.evaluation.figures_detection import confusion, effects

FIGURES: dict[str, Callable[[pd.DataFrame], dict[str, Figure]]] = {
    "confusion": confusion,
    "lambda3": lambda3,
    "data_augmentation": data_augmentation,
    "removal": removal,
    "loss_curves": loss_curves,
    "effects": effects,
}
DPI = 160


def draw(frame: pd.DataFrame, names: Sequence[str], folder: Path, experiment: str) -> list[Path]:
    """Draw those figures into a folder; a file's name begins with the experiment's."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in names:
        if name not in FIGURES:
            raise ConfigError(f"there is no figure {name!r}; the figures are {', '.join(FIGURES)}")
        for part, figure in FIGURES[name](frame).items():
            title = part if part.startswith(experiment) else f"{experiment}_{part}".strip("_")
            paths.append(folder / f"{title}.png")
            figure.savefig(paths[-1], dpi=DPI, metadata={"Software": None})
    return paths
