"""Marks: the paper's bi-level scheme, a random baseline, and the guard that keeps answers valid."""

from cfmark.watermark.baselines import RandomConfig as RandomConfig
from cfmark.watermark.bilevel import BilevelConfig as BilevelConfig
from cfmark.watermark.bilevel import Curves as Curves
from cfmark.watermark.embed import EmbedConfig as EmbedConfig
from cfmark.watermark.embed import EmbedInfo as EmbedInfo
from cfmark.watermark.embed import embed as embed
from cfmark.watermark.guard import guard as guard
from cfmark.watermark.presets import Preset as Preset
from cfmark.watermark.presets import preset as preset

__all__ = [
    "BilevelConfig",
    "Curves",
    "EmbedConfig",
    "EmbedInfo",
    "Preset",
    "RandomConfig",
    "embed",
    "guard",
    "preset",
]
