"""``cfmark bench``: run experiments, and show them as tables and figures."""

import json
import shlex
import sys
import time
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cfmark.cli.common import own_schema, start_jax
from cfmark.errors import ConfigError

if TYPE_CHECKING:
    from cfmark.evaluation import Outcome, Plan, Table

app = typer.Typer(no_args_is_help=True, help="Run experiments, and show them as tables and figures.")

#: Where there is no terminal, a table's lines may be so long before its cells are folded.
_WIDEST = 240

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")]


class FormatName(StrEnum):
    """How tables are printed."""

    text = "text"
    md = "md"
    json = "json"


class KindName(StrEnum):
    """Which table."""

    detection = "detection"
    quality = "quality"
    losses = "losses"
    removal = "removal"
    poison = "poison"
    timing = "timing"


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
    data: Annotated[
        str | None,
        typer.Option(help="A CSV or Parquet file of your own instead of the experiment's data sets."),
    ] = None,
    schema: Annotated[str | None, typer.Option(help="That file's schema, a TOML file.")] = None,
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

    Example: cfmark bench run experiments/table1.toml --out build/mine --data my.csv --schema my.toml
    """
    own = _own_table(data, schema)
    start_jax()
    from cfmark.distributed import Workers
    from cfmark.evaluation import plan, read_experiment, run_experiment, run_unit

    asked = read_experiment(experiment, repeats, own)
    who = Workers(engine.value, workers, address, _environment())
    planned = plan(asked, out, only, resume)
    started = time.monotonic()
    work = partial(run_experiment, asked, out, planned, run_unit, workers=who, command=_command())
    outcome = _watched(work, planned, out)
    _tell(outcome, planned, out, time.monotonic() - started)
    if outcome.failed:
        raise typer.Exit(1)


def _own_table(data: str | None, schema: str | None) -> tuple[str, str] | None:
    """Return a table of one's own and its schema, if they were given."""
    from cfmark.data import is_table

    if data is None:
        if schema is not None:
            raise ConfigError("--schema belongs to --data: name the table too")
        return None
    if not is_table(data):
        raise ConfigError(
            f"--data {data}: a table ends in .csv or .parquet; for others say --only dataset=..."
        )
    return data, own_schema(data, schema)


@app.command()
def table(
    folder: Folder,
    format_: Annotated[
        FormatName, typer.Option("--format", help="For people, for a document, or for a program.")
    ] = FormatName.text,
    kind: Annotated[
        list[KindName] | None,
        typer.Option(help="Which table; by default those that the experiment names, as JSON 'detection'."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write all of them to a JSON file too, with provenance."),
    ] = None,
) -> None:
    """Show the tables of a run, whole or not; numbers of the paper stand beside ours.

    With --format json it is a list of objects, one for each line.

    Example: cfmark bench table build/table1 --format md --kind quality
    """
    from cfmark.evaluation import markdown, missing, read_document, records_of, rows_of, tables_of

    if format_ == FormatName.json and len(kind or []) > 1:
        raise ConfigError("--format json is a list of one table's lines: name one --kind")
    document, rows = read_document(folder), rows_of(folder)
    kinds = [each.value for each in kind or []] or document["experiment"]["tables"]
    if save:
        records = {each: records_of(rows, each) for each in kinds}
        pages = {each: [markdown(made) for made in tables_of(rows, [each])] for each in kinds}
        _write(save, document | {"markdown": pages}, records)
    if format_ == FormatName.json:
        print(json.dumps(records_of(rows, kind[0].value if kind else "detection"), indent=1))
        return
    for made in tables_of(rows, kinds):
        if format_ == FormatName.md:
            print(f"{markdown(made)}\n")
        else:
            _show(made)
    for line in _left_out(document):
        print(line)
    if (left := missing(folder)) > 0:
        print(f"not run yet: {_units(left)}")


@app.command()
def figures(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the PNG files go; by default DIR/figures.")
    ] = None,
) -> None:
    """Draw the figures of a run, whole or not, and print their paths.

    Example: cfmark bench figures build/table1 --out docs/figures
    """
    from cfmark.evaluation import draw, read_document, rows_of

    experiment = read_document(folder)["experiment"]
    for path in draw(rows_of(folder), experiment["figures"], out or folder / "figures", experiment["name"]):
        print(path)


@app.command()
def mnist(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where mnist.png goes.")] = Path(
        "build/bench/mnist"
    ),
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what was found to a JSON file too.")
    ] = None,
) -> None:
    """Draw the paper's case study: digits, their counterfactuals, the marked ones, and the difference.

    Example: cfmark bench mnist --out docs/figures
    """
    start_jax()
    from cfmark.evaluation import case_study, picture, provenance

    study = case_study()
    out.mkdir(parents=True, exist_ok=True)
    picture(study).savefig(out / "mnist.png", dpi=160, metadata={"Software": None})
    print(out / "mnist.png")
    f = study.facts
    print(
        f"{f['queries']} queries, {f['found']} found, {f['marked']} marked; validity after marking "
        f"{f['validity_after']:.1%}; a mark moves a pixel by {f['mean_change']:.3f} (at most "
        f"{f['largest_change']:.3f}) of its range"
    )
    if save:
        _write(save, provenance(_command(), queries="mnist, queries", keys="mnist, keys"), {"mnist": [f]})


def _show(made: "Table") -> None:
    from cfmark.cli import screen
    from cfmark.evaluation import shown

    columns, lines = shown(made)
    drawn = screen.table(*(f">{column.head}" if column.number else column.head for column in columns))
    for line in lines:
        drawn.add_row(*line)
    console = screen.console()
    if not console.is_terminal:
        wide = console.options.update(width=_WIDEST)
        console.width = max(console.width, console.measure(drawn, options=wide).maximum)
    console.print(made.title)
    console.print(drawn)


def _left_out(document: dict[str, Any]) -> list[str]:
    """Say what is not in the tables, and why: a line for each reason."""
    found: dict[str, list[str]] = {}
    for unit, reason in (document["skipped"] | document["failed"]).items():
        found.setdefault(reason, []).append(unit)
    return [f"left out: {_some(units)}: {reason}" for reason, units in found.items()]


def _some(units: list[str]) -> str:
    return units[0] if len(units) == 1 else f"{_units(len(units))} ({units[0]} ...)"


def _units(count: int) -> str:
    return "1 unit" if count == 1 else f"{count} units"


def _write(path: Path, document: dict[str, Any], tables: dict[str, list[dict[str, Any]]]) -> None:
    """Write a document with tables, a line for each of their lines; the file is there whole, or as it was."""
    shown = ",\n".join(f'  "{kind}": {_by_line(records, "  ")}' for kind, records in tables.items())
    text = json.dumps(document, indent=1).removesuffix("\n}")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(f'{text},\n "tables": {{\n{shown}\n }}\n}}\n', encoding="utf-8")
    part.replace(path)


def _by_line(records: list[dict[str, Any]], indent: str) -> str:
    lines = ",\n".join(f"{indent} {json.dumps(record)}" for record in records)
    return f"[\n{lines}\n{indent}]" if records else "[]"


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
    for line in _left_out({"skipped": outcome.skipped, "failed": outcome.failed}):
        typer.echo(line, err=True)
    if outcome.failed:
        typer.echo(f"{_units(len(outcome.failed))} failed; --resume tries again", err=True)


def _command() -> str:
    return shlex.join(["cfmark", *sys.argv[1:]])


def _environment() -> tuple[tuple[str, str], ...]:
    """Return what workers must know to share the compilation cache."""
    from cfmark.data import cache_folder

    cache = str(cache_folder() / "jax")
    return ("JAX_COMPILATION_CACHE_DIR", cache), ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
