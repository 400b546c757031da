"""``cfmark watermark``: mark the counterfactuals of a file, and keep the pairs that prove it."""

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
    import jax

    from cfmark.cli.journal import Journal
    from cfmark.data import Dataset
    from cfmark.evaluation import Quality
    from cfmark.types import Classifier, Explanations, MarkedExplanations
    from cfmark.watermark import BilevelConfig

#: So many counterfactuals, about, are read, marked and written at a time.
PIECE = 4096

PresetOption = Annotated[str, typer.Option(help="default, or paper: the appendix's row for METHOD and DATA.")]
MethodOption = Annotated[
    str, typer.Option(help="The method that made the counterfactuals (growing_sphere, dice or cchvae).")
]
DeltaOption = Annotated[
    float | None, typer.Option(help="How far a mark may move a column, as a share of its range.")
]
ProximityOption = Annotated[
    float | None,
    typer.Option(help="How much farther from its query an answer may get, as a share: 0.02 is 2 %."),
]


class Marking(NamedTuple):
    """What marks a piece: the model, the data, the scheme, and the key."""

    key: "jax.Array"
    dataset: "Dataset"
    classifier: "Classifier"
    config: "BilevelConfig"


class Pieces(NamedTuple):
    """What came of a run: counterfactuals, pairs, and the quality of each piece before and after."""

    cfs: int
    paired: int
    before: "list[Quality]"
    after: "list[Quality]"


def watermark(
    cfs: Annotated[Path, typer.Option(help="The file that 'cfmark explain' wrote.", show_default=False)],
    data: DataOption = "cancer",
    schema: SchemaOption = None,
    rows: Annotated[
        Path | None,
        typer.Option(help="The rows that were explained, as given to 'cfmark explain'; else the query rows."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The CSV file for the customers.")] = Path("marked.csv"),
    pairs: Annotated[Path, typer.Option(help="The CSV file for the owner: keep it.")] = Path("pairs.csv"),
    model: ModelOption = None,
    preset: PresetOption = "default",
    method: MethodOption = "growing_sphere",
    delta: DeltaOption = None,
    proximity: ProximityOption = None,
    options: OptionList = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same marks.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run was stopped.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file of pairs.")] = False,
) -> None:
    """Mark counterfactuals, so that a model trained on them can be told from others.

    OUT is what customers get: the file of counterfactuals again, with every number moved a little. No
    answer loses its class or breaks the schema. PAIRS is the owner's: each query, what was issued for it,
    and the unmarked counterpart that nobody gets; 'cfmark verify' needs it. PAIRS with the ending .json
    says what made it.

    Example: cfmark explain --rows queries.csv --out cfs.csv

    Example: cfmark watermark --rows queries.csv --cfs cfs.csv --out marked.csv --pairs pairs.csv

    Example: cfmark watermark --cfs cfs.csv --delta 0.03 --proximity 0.01 --set steps=100
    """
    _check_files(cfs, rows, out, pairs, force or resume)
    dataset = open_dataset(data, schema)
    start_jax()
    import jax

    from cfmark.cli.journal import Journal
    from cfmark.cli.models import open_model
    from cfmark.seeds import derive_seed

    config = scheme_of(preset, method, dataset.name, delta, proximity, options)
    opened = open_model(dataset, model)
    key = jax.random.key(derive_seed("watermark", seed))
    facts: dict[str, Any] = {
        "data": data,
        "scheme": "bilevel",
        "preset": preset,
        "config": _plain(config),
        "seed": seed,
        "rows": rows.name if rows else f"the query rows of {dataset.name}",
        "cfs": cfs.name,
    }
    facts |= fingerprints(dataset, opened.classifier)
    journal = Journal([out, pairs], facts)
    marking = Marking(key, dataset, opened.classifier, config)
    _run(marking, rows, cfs, journal, resume)
    typer.echo(f"made for {opened.origin}: right on {opened.accuracy:.1%} of the holdout rows", err=True)


def scheme_of(
    preset: str,
    method: str,
    dataset: str,
    delta: float | None,
    proximity: float | None,
    options: list[str] | None,
) -> "BilevelConfig":
    """Return a preset with what was given beside it."""
    from cfmark.watermark import preset as preset_of

    plain = preset_of(preset, method, dataset).config
    elsewhere = {"delta": "--delta", "proximity": "--proximity"}
    given = read_options("bilevel", plain, options or [], elsewhere)
    given |= {"delta": delta} if delta is not None else {}
    given |= {"proximity": proximity} if proximity is not None else {}
    return replace(plain, **given)


def _check_files(cfs: Path, rows: Path | None, out: Path, pairs: Path, overwrite: bool) -> None:
    """Refuse, before any long work, files that are missing or in each other's way."""
    from cfmark.cli.journal import check_out
    from cfmark.cli.pairs_file import facts_of

    if pairs.exists() and not overwrite:
        raise ConfigError(f"--pairs {pairs}: there already; pass --force to overwrite it, or another name")
    written = {"--out": out, "--pairs": pairs}
    for name, path in written.items():
        check_out(path, name)
        for given in (cfs, rows):
            if given is not None and path.resolve() == given.resolve():
                raise ConfigError(f"{name} {path}: that is a file to be read; choose another name")
    if out.resolve() == pairs.resolve() or facts_of(pairs).is_dir():
        raise ConfigError(f"--pairs {pairs}: choose another name than --out has, and no folder's")


def _run(marking: Marking, rows: Path | None, cfs: Path, journal: "Journal", resume: bool) -> None:
    """Run to the end, or to Ctrl-C, and say what came of it."""
    from cfmark.cli.pairs_file import write_facts

    start = time.monotonic()
    out, pairs = journal.outs
    try:
        pieces, done = _mark_files(marking, rows, cfs, journal, resume)
    except KeyboardInterrupt:
        typer.echo(
            f"\nStopped. What is done is in {journal.parts[0]}; --resume goes on from there.", err=True
        )
        raise typer.Exit(130) from None
    write_facts(pairs, journal.settings)
    journal.finish()
    seconds = time.monotonic() - start
    earlier = f" ({done:,} queries were there already)" if done else ""
    speed = f"{pieces.cfs / seconds:,.0f} a second"
    typer.echo(f"{out}: {pieces.cfs:,} counterfactuals marked{earlier}, {seconds:.1f} s, {speed}", err=True)
    typer.echo(f"{pairs}: {pieces.paired:,} pairs; keep it, nobody else may see it", err=True)
    _tell_change(pieces)


def _mark_files(
    marking: Marking, rows: Path | None, cfs: Path, journal: "Journal", resume: bool
) -> tuple[Pieces, int]:
    """Mark a file piece by piece; return what came of it, and how many queries were done before."""
    from cfmark.cli import screen
    from cfmark.cli.cf_file import read_cfs, times
    from cfmark.cli.stream import count

    done = journal.begin(resume=resume)
    total, m = count(marking.dataset, rows), times(cfs)
    made, paired, before, after = 0, 0, [], []
    pieces_of = partial(read_cfs, marking.dataset, marking.classifier)
    with screen.progress("counterfactuals", total and total * m, done * m) as tell:
        for first, given in pieces_of(rows, cfs, done=done, size=PIECE):
            marked, quality = _mark_piece(marking, first, given, journal, tell)
            made, paired = made + int(given.found.sum()), paired + int(marked.paired.sum())
            before.append(quality[0])
            after.append(quality[1])
    return Pieces(made, paired, before, after), done


def _mark_piece(
    marking: Marking, first: int, given: "Explanations", journal: "Journal", tell: Callable[[int], None]
) -> "tuple[MarkedExplanations, tuple[Quality, Quality]]":
    """Mark a piece and append it to both files; return it, and the quality before and after."""
    import jax

    from cfmark.cli.pairs_file import pairs_table
    from cfmark.cli.stream import answers
    from cfmark.evaluation import quality
    from cfmark.watermark import embed

    key, dataset, classifier, config = marking
    marked, _ = embed(jax.random.fold_in(key, first), given, classifier, dataset, config, tell)
    issued = given._replace(cf=marked.issued)
    tables = [answers(dataset, issued, first), pairs_table(dataset, marked, first)]
    journal.write(tables, first + len(given.x))
    measured = [quality(e, dataset.encoder, classifier) for e in (given, issued)]
    return marked, (measured[0], measured[1])


def _tell_change(pieces: Pieces) -> None:
    from cfmark.cli.stream import Report

    before, after = Report(pieces=pieces.before).quality(), Report(pieces=pieces.after).quality()
    if pieces.cfs:
        typer.echo(
            f"valid {before.validity:.1%} -> {after.validity:.1%}, L1 {before.l1:.3f} -> {after.l1:.3f}, "
            f"{after.violations} violations",
            err=True,
        )


def _plain(config: "BilevelConfig") -> dict[str, Any]:
    """Return a config as JSON has it: tuples are lists."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(config).items()}
