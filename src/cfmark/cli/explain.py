"""``cfmark explain``: counterfactuals for the rows of a file."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cfmark.cli.common import DataOption, SchemaOption, open_dataset, start_jax
from cfmark.errors import ConfigError

if TYPE_CHECKING:
    from cfmark.cli.stream import Report

OptionList = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A field of the method's config, as in --set candidates=128."
    ),
]


def explain(
    data: DataOption = "cancer",
    schema: SchemaOption = None,
    method: Annotated[str, typer.Option(help="growing_sphere, dice or cchvae.")] = "growing_sphere",
    rows: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet file of the rows to explain; by default the query rows."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("cfs.csv"),
    n: Annotated[int, typer.Option("-n", min=1, max=100, help="Counterfactuals for each row.")] = 1,
    model: Annotated[
        str | None,
        typer.Option(
            help="model.npz, or module:attribute of any fitted model; by default one is trained and kept."
        ),
    ] = None,
    options: OptionList = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same answers.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run was stopped.")] = False,
) -> None:
    """Find counterfactuals: what would have to change for the other decision?

    The rows are read and the answers written piece by piece, so a file may be of any length. Both are in
    the data set's own columns and units; a row without a counterfactual has found = False and empty cells.

    Example: cfmark explain --data cancer --method growing_sphere --rows queries.csv --out cfs.csv

    Example: cfmark explain --data my.csv --schema my.toml --model my_module:pipeline --method dice -n 3
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

    given = parse_options(options or []) | {"n_cfs": n}
    opened = open_model(dataset, model)
    typer.echo(
        f"{opened.origin}: right on {opened.accuracy:.1%} of {len(dataset.holdout.y):,} holdout rows",
        err=True,
    )
    key_fit, key_explain = jax.random.split(jax.random.key(derive_seed("explain", method, seed)))
    explainer = fit_explainer(key_fit, method, dataset, opened.classifier, **given)
    settings = {"data": data, "schema": schema, "method": method, "rows": str(rows), "n": n} | {
        "model": model,
        "set": sorted(options or []),
        "seed": seed,
    }
    start = time.monotonic()
    try:
        report = stream.explain_file(
            key_explain,
            explainer,
            dataset,
            rows,
            out,
            settings,
            resume=resume,
            progress=lambda total, done: screen.progress("rows", total, done),
        )
    except KeyboardInterrupt:
        typer.echo(f"\nStopped. What is done is in {out}.part; add --resume to go on.", err=True)
        raise typer.Exit(130) from None
    _tell(report, out, time.monotonic() - start)


def parse_options(texts: list[str]) -> dict[str, Any]:
    """Turn NAME=VALUE texts into a dict of numbers, booleans and strings.

    >>> parse_options(["candidates=128", "refine=false", "growth=1.2"])
    {'candidates': 128, 'refine': False, 'growth': 1.2}
    """
    import json

    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ConfigError(f"--set {text}: expected NAME=VALUE")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


def _tell(report: "Report", out: Path, seconds: float) -> None:
    earlier = f" ({report.skipped:,} were there already)" if report.skipped else ""
    typer.echo(f"{out}: {report.rows + report.skipped:,} rows explained{earlier}, {seconds:.1f} s", err=True)
    if report.pieces:
        q = report.quality()
        typer.echo(
            f"found {q.found:.1%}, valid {q.validity:.1%}, L1 {q.l1:.2f}, {q.changed:.1f} features changed, "
            f"{q.violations} violations, {q.queries / seconds:,.0f} rows a second",
            err=True,
        )
