"""The ``cfmark`` program: its commands, and errors as one line with exit code 1 (2 for usage)."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from cfmark.cli import datasets, demo, explain
from cfmark.errors import CfmarkError

app = typer.Typer(
    name="cfmark",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Watermark counterfactual explanations, and prove which models were trained on them.",
)
app.add_typer(datasets.app, name="datasets")
app.command(name="demo")(demo.demo)
app.command(name="explain")(explain.explain)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"cfmark {version('cfmark')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None: ...


def main() -> None:
    """Run the program; every error that cfmark raises on purpose becomes one line."""
    try:
        app()
    except CfmarkError as problem:
        Console(stderr=True, soft_wrap=True).print(
            f"[bold red]error:[/] {_escape(str(problem))}", highlight=False
        )
        sys.exit(1)


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
