"""The paper's watermark: a bi-level optimisation through the imagined thief's training."""

from cfmark.watermark.bilevel.algorithm import Curves as Curves
from cfmark.watermark.bilevel.config import BilevelConfig as BilevelConfig
from cfmark.watermark.bilevel.embedding import Table as Table
from cfmark.watermark.bilevel.embedding import theta_of as theta_of

__all__ = ["BilevelConfig", "Curves", "Table", "theta_of"]
