"""Options and numbers that come from outside, each checked once and named in the message."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cfmark.errors import ConfigError


def number(name: str, value: Any) -> float:
    """Return the value as a finite float, or say which number is none."""
    try:
        result = math.nan if isinstance(value, bool | str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise ConfigError(f"{name} is {value!r}; a finite number is needed")
    return result


def between(name: str, value: Any, low: float, high: float) -> float:
    """Return the value as a float in [low, high]."""
    result = number(name, value)
    if not low <= result <= high:
        raise ConfigError(f"{name} is {result}; it must lie between {low:g} and {high:g}")
    return result


def share(name: str, value: Any) -> float:
    """Return the value as a float in (0, 1), both ends excluded: a level, or a power."""
    result = number(name, value)
    if not 0 < result < 1:
        raise ConfigError(f"{name} is {result}; it must lie strictly between 0 and 1")
    return result


def count(name: str, value: Any, least: int) -> int:
    """Return the value as a whole number of at least ``least``."""
    try:
        whole = None if isinstance(value, bool) else value.__index__()
    except AttributeError:
        whole = None
    if whole is None or whole < least:
        raise ConfigError(f"{name} is {value!r}; a whole number of at least {least} is needed")
    return int(whole)


def numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return a list of finite numbers (k,)."""
    try:
        array: NDArray[np.float64] = np.asarray(values, np.float64)
    except (TypeError, ValueError) as problem:
        raise ConfigError(f"{name} are not numbers ({problem})") from problem
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ConfigError(f"{name} must be a list of finite numbers; they are of shape {array.shape}")
    return array


def signs(values: ArrayLike, coins: int) -> NDArray[np.float64]:
    """Return the coins (k,), 1 or -1 each."""
    array = numbers("signs", values)
    if array.shape != (coins,) or not np.isin(array, (-1, 1)).all():
        raise ConfigError(f"signs must be {coins} numbers, 1 or -1")
    return array
