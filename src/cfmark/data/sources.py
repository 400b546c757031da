"""Where the built-in tables come from: inside scikit-learn, or files in the data folder.

Files are looked for in the folder that CFMARK_DATA names, else in ``~/.local/share/cfmark``.
"""

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.datasets import load_breast_cancer

from cfmark.data.schema import Feature, Schema
from cfmark.errors import DatasetError
from cfmark.types import FloatArray, IntArray

BUILT_IN = ("cancer", "credit", "heloc", "loan")
LOAN_YEARS = range(1994, 2010)
FILES: dict[str, tuple[str, ...]] = {
    "credit": ("credit/UCI_Credit_Card.csv",),
    "heloc": ("heloc/heloc_dataset.csv",),
    "loan": tuple(f"loan/year={year}.csv" for year in LOAN_YEARS),
    "mnist01": ("mnist/t10k-images-idx3-ubyte", "mnist/t10k-labels-idx1-ubyte"),
}


class Facts(NamedTuple):
    """What is known of a data set before it is there: its size, and class 1 with its share."""

    rows: int
    columns: int
    label: str
    rate: float


FACTS = {
    "cancer": Facts(569, 30, "diagnosis is malignant", 0.373),
    "credit": Facts(30_000, 23, "default next month", 0.221),
    "heloc": Facts(10_459, 23, "RiskPerformance is Good", 0.478),
    "loan": Facts(449_152, 12, "Approve: paid in full", 0.681),
    "mnist01": Facts(2_115, 784, "the digit is 1", 0.537),
}


def data_folder() -> Path:
    """Return the folder that holds the data sets' files."""
    named = os.environ.get("CFMARK_DATA")
    return Path(named) if named else _home("XDG_DATA_HOME", ".local/share")


def cache_folder() -> Path:
    """Return the folder for what can be made again: Parquet copies, trained models, compiled programs."""
    named = os.environ.get("CFMARK_CACHE")
    return Path(named) if named else _home("XDG_CACHE_HOME", ".cache")


def is_table(data: str) -> bool:
    """Whether this names a table of one's own, by its ending, rather than a built-in data set.

    >>> is_table("loans.csv"), is_table("loan")
    (True, False)
    """
    return Path(data).suffix in (".csv", ".parquet")


def is_present(name: str) -> bool:
    """Whether every file of the data set is there (always, for those that need none)."""
    if is_table(name):
        return Path(name).is_file()
    return all((data_folder() / file).is_file() for file in FILES.get(name, ()))


def schema_path(name: str) -> Path:
    """Return the schema file of a built-in data set."""
    return Path(__file__).parent / "schemas" / f"{name}.toml"


def table(name: str) -> pd.DataFrame:
    """Read the raw table of a built-in data set."""
    if name == "cancer":
        return _cancer()
    paths = _paths(name)
    return _loan(paths) if name == "loan" else pd.read_csv(paths[0])


def mnist01() -> tuple[Schema, FloatArray, IntArray]:
    """Read the digits 0 and 1 of the MNIST test files: pixels are integers from 0 to 255."""
    images, labels = (np.fromfile(path, np.uint8) for path in _paths("mnist01"))
    pixels, digits = images[16:].reshape(-1, 784), labels[8:]
    keep = digits <= 1
    names = [f"pixel {row},{column}" for row in range(28) for column in range(28)]
    features = tuple(Feature(n, "integer", 0, 255, 1) for n in names)
    return (
        Schema(features, target="digit"),
        np.minimum(pixels[keep].astype(np.float32) * np.float32(1 / 255), np.float32(1)),
        digits[keep].astype(np.int64),
    )


def _home(variable: str, default: str) -> Path:
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / default) / "cfmark"


def _paths(name: str) -> list[Path]:
    paths = [data_folder() / file for file in FILES[name]]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise DatasetError(
            f"{name}: there is no file {missing[0]}; run 'cfmark datasets get {name}', or set CFMARK_DATA "
            "to the folder that has it"
        )
    return paths


def _cancer() -> pd.DataFrame:
    frame: pd.DataFrame = load_breast_cancer(as_frame=True).frame
    diagnosis = frame.pop("target").map({0: "malignant", 1: "benign"})
    return frame.assign(diagnosis=diagnosis)


def _loan(paths: list[Path]) -> pd.DataFrame:
    stamp = max(path.stat().st_mtime_ns for path in paths)
    size = sum(path.stat().st_size for path in paths)
    cached = cache_folder() / f"loan-{size}-{stamp}.parquet"
    if cached.is_file():
        with suppress(OSError, pa.ArrowException):
            return pd.read_parquet(cached)
    text = {"LowDoc": str, "State": str}
    frame = pd.concat([pd.read_csv(path, dtype=text) for path in paths], ignore_index=True)
    _keep(frame, cached)
    return frame


def _keep(frame: pd.DataFrame, cached: Path) -> None:
    """Write a copy for the next load; a folder that cannot be written costs time, not the load."""
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached.parent, suffix=".part") as folder:
            part = Path(folder) / cached.name
            frame.to_parquet(part, index=False)
            part.replace(cached)
    except OSError:
        return
