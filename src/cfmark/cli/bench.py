"""``cfmark bench``: run experiments, and show them as tables and figures."""

import shlex
import sys
import time
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cfmark.cli.common import start_jax

if TYPE_CHECKING:
    from cfmark.evaluation import Outcome, Plan

app = typer.Typer(no_args_is_help=True, help="Run experiments, and show them as tables and figures.")

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")]


class EngineName(StrEnum):
    """Who does the work."""

    serial = "serial"
    processes = "processes"
    ray = "ray"


@app.command()
def run(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT.toml", help="The experiment's file.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write to.")],
    only: Annotated[
        str,
        typer.Option(
            metavar="AXIS=VALUE,...",
            help="Run a part: dataset=cancer|heloc,explainer=dice; scheme, draw, fields of a variant too.",
        ),
    ] = "",
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Suspects of each kind in a cell, instead of the file's.")
    ] = None,
    engine: Annotated[EngineName, typer.Option(help="In this process, in local ones, or on Ray.")] = (
        EngineName.serial
    ),
    workers: Annotated[
        int | None, typer.Option(min=1, help="Local processes; by default one for each core.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Ray's head node; by default RAY_ADDRESS, or this machine alone.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run was stopped.")] = False,
) -> None:
    """Run an experiment: what is done is on disk at once, and --resume goes on from there.

    Example: cfmark bench run experiments/table1.toml --out build/table1 --only dataset=cancer

    Example: cfmark bench run experiments/table1.toml --out build/table1 --engine processes --resume
    """
    start_jax()
    from cfmark.distributed import Workers
    from cfmark.evaluation import plan, read_experiment, run_experiment
    from cfmark.evaluation.protocol import run_unit

    asked = read_experiment(experiment, repeats)
    who = Workers(engine.value, workers, address, _environment())
    planned = plan(asked, out, only, resume)
    started = time.monotonic()
    work = partial(run_experiment, asked, out, planned, run_unit, workers=who, command=_command())
    outcome = _watched(work, planned, out)
    _tell(outcome, planned, out, time.monotonic() - started)
    if outcome.failed:
        raise typer.Exit(1)


def _watched(work: "partial[Outcome]", planned: "Plan", out: Path) -> "Outcome":
    """Run to the end, or to Ctrl-C, with progress."""
    from cfmark.cli import screen

    total = len(planned.todo) + len(planned.done)
    try:
        with screen.progress("units", total, len(planned.done)) as tell:
            return work(progress=tell)
    except KeyboardInterrupt:
        typer.echo(f"\nStopped. What is done is in {out}; add --resume to go on.", err=True)
        raise typer.Exit(130) from None


def _tell(outcome: "Outcome", planned: "Plan", out: Path, seconds: float) -> None:
    earlier = f" ({len(planned.done)} were there already)" if planned.done else ""
    typer.echo(f"{out}: {outcome.made + len(planned.done)} units{earlier}, {seconds:.1f} s", err=True)
    reasons: dict[str, list[str]] = {}
    for unit, reason in outcome.skipped.items():
        reasons.setdefault(reason, []).append(unit)
    for reason, left_out in reasons.items():
        typer.echo(f"{len(left_out)} units left out ({left_out[0]} ...): {reason}", err=True)
    for unit, problem in outcome.failed.items():
        typer.echo(f"{unit} failed: {problem}", err=True)
    if outcome.failed:
        typer.echo(f"{len(outcome.failed)} units failed; --resume tries them again", err=True)


def _command() -> str:
    return shlex.join(["cfmark", *sys.argv[1:]])


def _environment() -> tuple[tuple[str, str], ...]:
    """Return what workers must know to share the compilation cache."""
    from cfmark.data import cache_folder

    cache = str(cache_folder() / "jax")
    return ("JAX_COMPILATION_CACHE_DIR", cache), ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
