"""``cfmark datasets``: list, describe, get, and a first schema for one's own table."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cfmark.cli import screen
from cfmark.cli.common import open_dataset, start_jax
from cfmark.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from cfmark.data import Dataset, Feature, Split
    from cfmark.data.fetch import Progress

_MOST_FEATURES = 60

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="See the built-in data sets, download them, bring your own.\n\nExample: cfmark datasets list",
)


@app.command("list")
def list_() -> None:
    """List the built-in data sets, and say which are here.

    Example: cfmark datasets list
    """
    from cfmark.data import is_present
    from cfmark.data.sources import FACTS

    table = screen.table("name", ">rows", ">columns", "class 1", ">share", "here")
    for name, facts in FACTS.items():
        here = "yes" if is_present(name) else f"cfmark datasets get {name}"
        table.add_row(name, f"{facts.rows:,}", f"{facts.columns}", facts.label, f"{facts.rate:.1%}", here)
    table.add_row("synthetic", "any", "9", "made of 8 numbers and a category", "50.0%", "yes")
    screen.console().print(table)


@app.command()
def describe(
    name: Annotated[str | None, typer.Argument(help="A built-in data set.", show_default=False)] = None,
    data: Annotated[str | None, typer.Option("--data", help="Your own CSV or Parquet file instead.")] = None,
    schema: Annotated[
        str | None,
        typer.Option("--schema", help="'actionable' (default) or 'paper'; for a file, its schema (TOML)."),
    ] = None,
    model: Annotated[bool, typer.Option(help="Train the classifier, or take it from the cache.")] = True,
) -> None:
    """Describe a data set: its splits, its columns, and how good the classifier is.

    Example: cfmark datasets describe heloc --schema paper

    Example: cfmark datasets describe --data my.csv --schema my.toml
    """
    if (name is None) == (data is None):
        raise ConfigError("name one data set, or a file with --data: 'cfmark datasets describe cancer'")
    dataset = open_dataset(name or data or "", schema)
    console = screen.console()
    console.print(_splits(dataset), _features(dataset))
    if model:
        start_jax()
        from cfmark.cli.models import open_model

        right = open_model(dataset).accuracy
        console.print(
            f"The classifier is right on {right:.1%} of the {len(dataset.holdout.y):,} holdout rows."
        )


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="A data set that needs files, or all.", show_default=False)],
    folder: Annotated[
        Path | None,
        typer.Option(help="Where to; by default the folder that CFMARK_DATA names, or your home's."),
    ] = None,
) -> None:
    """Download a data set's files and check every byte. A download that broke off goes on where it stopped.

    Example: cfmark datasets get heloc
    """
    from cfmark.data import data_folder, fetch
    from cfmark.data.sources import FILES

    with _progress() as progress:
        for one in FILES if name == "all" else [name]:
            fetch.get(one, folder, progress=progress)
    console = screen.console()
    console.print(f"{name}: every file is in {folder or data_folder()}, and its sha256 is right.")
    if folder is not None and folder != data_folder():
        console.print(f"To use them there, set CFMARK_DATA={folder}")


@app.command()
def infer(
    table: Annotated[Path, typer.Argument(help="A CSV or Parquet file.", show_default=False)],
    target: Annotated[str, typer.Option(help="The label's column; it has two values.", show_default=False)],
    labels: Annotated[
        tuple[str, str] | None,
        typer.Option(help="The label's values, class 0 first.", metavar="VALUE VALUE", show_default=False),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; may be repeated.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The schema file; by default beside the table.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the schema file.")] = False,
) -> None:
    """Write a first schema for your own table, to be edited.

    Example: cfmark datasets infer my.csv --target approved --labels no yes
    """
    from cfmark.data.infer import infer_schema

    out = out or table.with_suffix(".toml")
    if out.exists() and not force:
        raise ConfigError(f"{out} is there already; pass --force to overwrite it, or another --out")
    text = infer_schema(table, target, labels, drop or ())
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise ConfigError(f"{out} cannot be written ({problem})") from problem
    typer.echo(
        f"Wrote {out}. Look through it: what cannot change, what may only rise or fall, precision, units."
    )
    typer.echo(f"Then: cfmark datasets describe --data {table} --schema {out}")


def _splits(dataset: "Dataset") -> "Table":
    label = dataset.schema.labels[1]
    table = screen.table("rows", ">count", f">{dataset.schema.target} is {label}", "for")
    purposes = {
        "train": "the owner's model",
        "query": "customers' questions",
        "holdout": "accuracy and agreement",
    }
    for name, purpose in purposes.items():
        split: Split = getattr(dataset, name)
        table.add_row(name, f"{len(split.y):,}", f"{split.y.mean():.1%}", purpose)
    return table


def _features(dataset: "Dataset") -> "Table":
    features = dataset.schema.features
    table = screen.table("feature", "kind", "range", ">precision", "unit", "may change")
    for feature in features[:_MOST_FEATURES]:
        precision = f"{feature.precision:.{feature.decimals}f}" if feature.is_number else ""
        table.add_row(feature.name, feature.kind, _range(feature), precision, feature.unit, _freedom(feature))
    if len(features) > _MOST_FEATURES:
        table.add_row(f"and {len(features) - _MOST_FEATURES} more", *[""] * 5)
    return table


def _range(feature: "Feature") -> str:
    if not feature.is_number:
        shown = ", ".join(map(str, feature.categories[:6]))
        return shown if len(feature.categories) <= 6 else f"{shown}, ... ({len(feature.categories)})"
    low, high = (f"{value:,.{feature.decimals}f}" for value in (feature.low, feature.high))
    codes = ", ".join(f"{code:g}" for code in feature.special)
    return f"{low} to {high}" + (f"; codes {codes}" if codes else "")


def _freedom(feature: "Feature") -> str:
    if feature.immutable:
        return "no"
    freedom = {"any": "yes", "up": "may only rise", "down": "may only fall"}[feature.direction]
    return f"{freedom}, a code stays" if feature.special_fixed else freedom


@contextmanager
def _progress() -> "Iterator[Progress]":
    """Show a bar a file on a terminal, and a line a file elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _tell_line
        return
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(path: str, arrived: int, total: int) -> None:
            if path not in tasks:
                tasks[path] = bars.add_task(path, total=total)
            bars.update(tasks[path], completed=arrived, total=total)

        yield tell


def _tell_line(path: str, arrived: int, total: int) -> None:
    if arrived >= total:
        typer.echo(f"{path}: {arrived:,} bytes", err=True)
