"""``cfmark explain``: counterfactuals for the rows of a file."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cfmark.cli.common import (
    DataOption,
    ModelOption,
    OptionList,
    SchemaOption,
    fingerprints,
    open_dataset,
    read_options,
    start_jax,
)
from cfmark.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cfmark.cli.stream import Report

RowsOption = Annotated[
    Path | None,
    typer.Option(help="CSV or Parquet file of the rows to explain; by default the query rows."),
]


def explain(
    data: DataOption = "cancer",
    schema: SchemaOption = None,
    method: Annotated[str, typer.Option(help="growing_sphere, dice or cchvae.")] = "growing_sphere",
    rows: RowsOption = None,
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("cfs.csv"),
    n: Annotated[int, typer.Option("-n", min=1, max=100, help="Counterfactuals for each row.")] = 1,
    model: ModelOption = None,
    options: OptionList = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same answers.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run was stopped.")] = False,
) -> None:
    """Find counterfactuals: what would have to change for the other decision?

    The rows are read and the answers written piece by piece, so a file may be of any length. Both are in
    the data set's own columns and units; columns go by their names, and others than the data set's are
    ignored. A row without a counterfactual has found = False and empty cells.

    Example: cfmark explain --rows queries.csv --out cfs.csv

    Example: cfmark explain --data my.csv --schema my.toml --method dice -n 3

    Example: cfmark explain --data my.csv --schema my.toml --model my_file:model
    """
    if out.suffix != ".csv":
        raise ConfigError(f"--out {out}: the answers are written as CSV; name a file that ends in .csv")
    dataset = open_dataset(data, schema)
    start_jax()
    import jax

    from cfmark.cli import screen, stream
    from cfmark.cli.models import open_model
    from cfmark.explainers import fit_explainer
    from cfmark.seeds import derive_seed

    given = config_of(method, options or [], n)
    if notice := stream.check(dataset, rows, out):
        typer.echo(notice, err=True)
    opened = open_model(dataset, model)
    right = f"right on {opened.accuracy:.1%} of {len(dataset.holdout.y):,} holdout rows"
    typer.echo(f"{opened.origin}: {right}", err=True)
    key_fit, key_explain = jax.random.split(jax.random.key(derive_seed("explain", method, seed)))
    explainer = fit_explainer(key_fit, method, dataset, opened.classifier, **given)
    settings: dict[str, Any] = {
        "data": data,
        "method": method,
        "rows": str(rows and rows.resolve()),
        "n": n,
        "seed": seed,
    }
    settings |= {"set": sorted(options or [])} | fingerprints(dataset, opened.classifier)
    files = partial(stream.explain_file, key_explain, explainer, dataset, rows, out, settings)
    _run(partial(files, resume=resume, progress=partial(screen.progress, "rows")), out)


def _run(explain_file: "Callable[[], Report]", out: Path) -> None:
    """Run to the end, or to Ctrl-C, and say what came of it."""
    from cfmark.cli.journal import part_of

    start = time.monotonic()
    try:
        report = explain_file()
    except KeyboardInterrupt:
        part = part_of(out)
        done = f"What is done is in {part}; add --resume to go on." if part.exists() else "No row is done."
        typer.echo(f"\nStopped. {done}", err=True)
        raise typer.Exit(130) from None
    _tell(report, out, time.monotonic() - start)


def config_of(method: str, texts: list[str], n: int) -> dict[str, Any]:
    """Turn -n and NAME=VALUE texts into fields of the method's config, checked.

    >>> config_of("growing_sphere", ["candidates=128", "refine=false", "growth=1.2"], 3)
    {'candidates': 128, 'refine': False, 'growth': 1.2, 'n_cfs': 3}
    """
    from cfmark.explainers import METHODS

    if method not in METHODS:
        raise ConfigError(f"there is no method {method!r}; the methods are {', '.join(METHODS)}")
    options = read_options(method, METHODS[method].config(), texts, {"n_cfs": "-n"})
    options["n_cfs"] = n
    METHODS[method].config(**options)
    return options


def _tell(report: "Report", out: Path, seconds: float) -> None:
    earlier = f" ({report.skipped:,} were there already)" if report.skipped else ""
    typer.echo(f"{out}: {report.rows + report.skipped:,} rows explained{earlier}, {seconds:.1f} s", err=True)
    if not report.pieces:
        return
    q = report.quality()
    if not q.found:
        typer.echo("found none: no row has a counterfactual that the schema allows", err=True)
        return
    typer.echo(
        f"found {q.found:.1%}, valid {q.validity:.1%}, L1 {q.l1:.2f}, {q.changed:.1f} features changed, "
        f"{q.violations} violations, {q.queries / seconds:,.0f} rows a second",
        err=True,
    )
