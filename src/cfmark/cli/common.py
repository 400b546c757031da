"""What several commands share: which data, with which schema, and the set-up of JAX."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cfmark.errors import ConfigError, TableError

if TYPE_CHECKING:
    from cfmark.data import Dataset

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


def open_dataset(data: str, schema: str | None) -> "Dataset":
    """Load a built-in data set, or a table with its schema file."""
    from cfmark.data import load, load_table

    if Path(data).suffix not in (".csv", ".parquet"):
        if Path(data).is_file():
            raise ConfigError(f"--data {data}: a table is a file that ends in .csv or .parquet")
        return load(data, schema or "actionable")
    if not Path(data).is_file():
        raise TableError("there is no such file", source=data)
    if schema is None:
        raise ConfigError(
            f"{data} needs a schema: run 'cfmark datasets infer {data} --target COLUMN', look through the "
            "file it writes, and pass it with --schema"
        )
    return load_table(data, schema)


def start_jax() -> None:
    """Switch on the compilation cache, so that the second run of a command does not compile."""
    import jax

    from cfmark.data import cache_folder

    update: Callable[[str, object], None] = jax.config.update
    update("jax_compilation_cache_dir", str(cache_folder() / "jax"))
    update("jax_persistent_cache_min_compile_time_secs", 0.3)
