"""What several commands share: which data, which model, options as texts, and the set-up of JAX."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cfmark.errors import ConfigError, TableError

if TYPE_CHECKING:
    from cfmark.data import Dataset
    from cfmark.types import Classifier

DataOption = Annotated[
    str,
    typer.Option(
        "--data", help="A built-in data set (see 'cfmark datasets list'), or a CSV or Parquet file."
    ),
]
SchemaOption = Annotated[
    str | None,
    typer.Option(
        "--schema",
        help="For a built-in data set: 'actionable' (default) or 'paper'. For a file: its schema, a TOML "
        "file that 'cfmark datasets infer' starts for you.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        help="model.npz, or module:attribute of any fitted model; by default one is trained and kept."
    ),
]
OptionList = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A field of the method's config, as in --set candidates=128."
    ),
]
_KINDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def open_dataset(data: str, schema: str | None) -> "Dataset":
    """Load a built-in data set, or a table with its schema file."""
    from cfmark.data import is_table, load, load_table

    if not is_table(data):
        if Path(data).is_file():
            raise ConfigError(f"--data {data}: a table is a file that ends in .csv or .parquet")
        return load(data, schema or "actionable")
    return load_table(data, own_schema(data, schema))


def own_schema(data: str, schema: str | None) -> str:
    """Return the schema file of a table of one's own, or say what is missing."""
    if not Path(data).is_file():
        raise TableError("there is no such file", source=data)
    if schema is None:
        raise ConfigError(
            f"{data} needs a schema: run 'cfmark datasets infer {data} --target COLUMN', look through the "
            "file it writes, and pass it with --schema"
        )
    return schema


def start_jax() -> None:
    """Switch on the compilation cache, so that the second run of a command does not compile."""
    import jax

    from cfmark.data import cache_folder

    update: Callable[[str, object], None] = jax.config.update
    update("jax_compilation_cache_dir", str(cache_folder() / "jax"))
    update("jax_persistent_cache_min_compile_time_secs", 0.3)


def fingerprints(dataset: "Dataset", classifier: "Classifier") -> dict[str, str]:
    """Tell a schema and a model from others of the same name, by what they say."""
    shown = classifier.predict_proba(dataset.holdout.x[:256]).round(4)
    return {"schema": schema_print(dataset), "model": _print(shown.tobytes())}


def schema_print(dataset: "Dataset") -> str:
    """Tell a schema from others of the same name."""
    return _print(repr(dataset.schema).encode())


def _print(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def read_options(owner: str, plain: Any, texts: list[str], elsewhere: Mapping[str, str]) -> dict[str, Any]:
    """Turn NAME=VALUE texts into fields of a config like ``plain``; some have options ``elsewhere``."""
    known = {field.name: type(getattr(plain, field.name)) for field in fields(plain)}
    known = {name: kind for name, kind in known.items() if kind in _KINDS and name not in elsewhere}
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ConfigError(f"--set {text}: expected NAME=VALUE")
        if name not in known:
            hint = f"say {elsewhere[name]}" if name in elsewhere else f"{owner} has {', '.join(known)}"
            raise ConfigError(f"--set {text}: there is no {name!r} to set; {hint}")
        options[name] = value if known[name] is str else _parsed(text, value, known[name])
    return options


def _parsed(text: str, value: str, kind: type) -> bool | int | float:
    parsed: Any = None
    try:
        parsed = json.loads(value, parse_constant=lambda _: None)
    except ValueError:
        pass
    fits = type(parsed) is kind or (kind is float and type(parsed) is int)
    if not fits:
        raise ConfigError(f"--set {text}: expected {_KINDS[kind]}")
    number: bool | int | float = kind(parsed)
    return number
