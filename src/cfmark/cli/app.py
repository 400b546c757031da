"""The ``cfmark`` program: its commands, and errors as one line with exit code 1 (2 for usage)."""

import sys
from typing import Annotated

import typer

from cfmark.cli import attack, bench, datasets, demo, explain, verify, watermark
from cfmark.errors import CfmarkError

app = typer.Typer(
    name="cfmark",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.add_typer(datasets.app, name="datasets")
app.add_typer(bench.app, name="bench")
app.command(name="demo")(demo.demo)
app.command(name="explain")(explain.explain)
app.command(name="watermark")(watermark.watermark)
app.command(name="attack")(attack.attack)
app.command(name="verify")(verify.verify)


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
) -> None:
    """Watermark counterfactual explanations, and prove which models were trained on them.

    Example: cfmark demo
    """


def run() -> None:
    """Run the program; what cfmark refuses and what the system refuses become one line."""
    try:
        app(prog_name="cfmark")
    except CfmarkError as problem:
        _fail(str(problem))
    except OSError as problem:
        place = f"{problem.filename}: " if problem.filename else ""
        _fail(f"{place}{problem.strerror or problem}")


def _fail(message: str) -> None:
    from rich.console import Console
    from rich.text import Text

    line = " ".join(part.strip() for part in message.splitlines() if part.strip())
    Console(stderr=True, soft_wrap=True).print(Text.assemble(("error:", "bold red"), " ", line))
    sys.exit(1)
