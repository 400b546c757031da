"""``cfmark verify``: was this model trained on our counterfactuals?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cfmark.cli.common import (
    DataOption,
    ModelOption,
    SchemaOption,
    fingerprints,
    open_dataset,
    schema_print,
    start_jax,
)
from cfmark.errors import ConfigError

if TYPE_CHECKING:
    from cfmark.calibration import Calibration, CalibrationConfig
    from cfmark.data import Dataset
    from cfmark.verification import Scores, Verdict
    from cfmark.watermark import BilevelConfig


def verify(
    suspect: Annotated[
        str,
        typer.Option(
            help="model.npz, or module:attribute of anything with predict_proba.", show_default=False
        ),
    ],
    pairs: Annotated[Path, typer.Option(help="The owner's file, from 'cfmark watermark'.")] = Path(
        "pairs.csv"
    ),
    data: DataOption = "cancer",
    schema: SchemaOption = None,
    model: ModelOption = None,
    test: Annotated[str, typer.Option(help="t or calibrated.")] = "calibrated",
    tau: Annotated[
        float | None,
        typer.Option(help="The t-test's margin, in probability; by default learnt from innocent shadows."),
    ] = None,
    alpha: Annotated[float, typer.Option(help="The level: how often an innocent may be flagged.")] = 0.05,
    pool: Annotated[
        str, typer.Option(help="Innocents to compare with: queries (asked for predictions only), or all.")
    ] = "queries",
    score: Annotated[str, typer.Option(help="What 'calibrated' ranks: mean or ratio.")] = "ratio",
    shadows: Annotated[
        int, typer.Option(min=1, help="Shadow models of each innocent kind to rank the suspect among.")
    ] = 199,
    families: Annotated[
        str | None,
        typer.Option(help="Models that innocents may be, as in mlp,forest; by default those of the pool."),
    ] = None,
    pairs_used: Annotated[
        int | None, typer.Option(min=2, help="Ask about so many pairs drawn at random; by default about all.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides that draw, and the shadows.")] = 0,
    out: Annotated[Path, typer.Option(help="The JSON file of the verdict.")] = Path("verdict.json"),
    report: Annotated[Path | None, typer.Option(help="Also write a report, one HTML file.")] = None,
) -> None:
    """Test whether a model was trained on the marked counterfactuals.

    't' is the paper's test: is the suspect's mean difference between issued points and their counterparts
    above a margin? 'calibrated' trains shadow models that are innocent, and some that are not, on the very
    queries and pairs, and ranks the suspect among the innocent. The level holds for the kinds of innocents
    that are listed. A verdict is evidence; it is no proof.

    Example: cfmark verify --suspect suspect.npz --pairs pairs.csv --report report.html

    Example: cfmark verify --suspect my_module:model --test t --tau 0.05

    Example: cfmark verify --suspect suspect.npz --pool all --families mlp,logistic --pairs-used 100
    """
    _check_options(test, pool, score, out, report, pairs)
    dataset = open_dataset(data, schema)
    start_jax()
    import numpy as np

    from cfmark.cli.models import open_model
    from cfmark.cli.pairs_file import read_pairs
    from cfmark.cli.shadows import Case, calibrated
    from cfmark.seeds import derive_seed
    from cfmark.verification import decide, sample_pairs
    from cfmark.verification import score as ask

    shadow_models = _shadow_models(pool, families, shadows, alpha)
    kept = read_pairs(dataset, pairs)
    made = _made(pairs, dataset)
    asked = kept
    if pairs_used is not None:
        asked = sample_pairs(kept, pairs_used, np.random.default_rng(derive_seed("verify", "pairs", seed)))
    opened = open_model(dataset, suspect, "--suspect")
    scores = ask(opened.classifier, asked)
    calibration = None
    if test == "calibrated" or tau is None:
        owner = open_model(dataset, model).classifier
        _same_model(pairs, made, fingerprints(dataset, owner)["model"])
        case = Case(dataset, owner, kept, asked, _scheme(made))
        calibration = calibrated(case, pool, shadow_models, "verify", seed)
    verdict = decide(scores, test, tau, alpha, calibration, pool, score)
    write_text(out, verdict.to_json() + "\n")
    typer.echo(f"Suspect: {opened.origin}; it is right on {opened.accuracy:.1%} of the holdout rows.")
    typer.echo(verdict.in_words())
    if calibration is not None and test == "calibrated":
        typer.echo(_power(calibration, score))
    if report is not None:
        _report(report, suspect, opened.origin, scores, verdict, calibration, made)
    typer.echo(f"{out}: the verdict as JSON" + (f"; {report}: the report" if report else ""), err=True)


def write_text(path: Path, text: str) -> None:
    """Write a file, complete or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _check_options(test: str, pool: str, score: str, out: Path, report: Path | None, pairs: Path) -> None:
    """Refuse, before any long work, what could not be done after it."""
    known = {"test": ("t", "calibrated"), "pool": ("queries", "all"), "score": ("mean", "ratio")}
    for name, value in {"test": test, "pool": pool, "score": score}.items():
        if value not in known[name]:
            raise ConfigError(f"--{name} {value}: choose one of {', '.join(known[name])}")
    for name, path in {"--out": out, "--report": report}.items():
        if path is None:
            continue
        if path.resolve() in (pairs.resolve(), pairs.with_suffix(".json").resolve()):
            raise ConfigError(f"{name} {path}: that belongs to the pairs; choose another name")
        if path.is_dir() or not path.parent.is_dir():
            raise ConfigError(f"{name} {path}: name a file in a folder that is there")


def _shadow_models(pool: str, families: str | None, shadows: int, alpha: float) -> "CalibrationConfig":
    from cfmark.attacks import FAMILIES
    from cfmark.calibration import FAMILIES_OF, CalibrationConfig

    chosen = tuple(families.split(",")) if families else FAMILIES_OF[pool]
    for family in chosen:
        if family not in FAMILIES:
            raise ConfigError(f"--families {family}: choose among {', '.join(FAMILIES)}")
    return CalibrationConfig(rank=shadows, alpha=alpha, families=chosen)


def _made(pairs: Path, dataset: "Dataset") -> dict[str, Any]:
    """Return what stands beside the pairs, if it is about the data at hand."""
    from cfmark.cli.pairs_file import facts_of, read_facts

    made = read_facts(pairs)
    if made is None:
        typer.echo(f"{facts_of(pairs)} is not there: nothing says what made {pairs}", err=True)
        return {}
    if made.get("schema") != schema_print(dataset):
        raise ConfigError(f"{pairs} was made with another schema than --data and --schema name now")
    return made


def _same_model(pairs: Path, made: dict[str, Any], model: str) -> None:
    if made and made.get("model") != model:
        raise ConfigError(f"{pairs} was made with another model than --model names; shadows need the owner's")


def _scheme(made: dict[str, Any]) -> "BilevelConfig | None":
    """Return the scheme that made the pairs, if that is known."""
    from cfmark.watermark import BilevelConfig

    config = made.get("config")
    if not isinstance(config, dict):
        return None
    fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in config.items()}
    try:
        return BilevelConfig(**fields)
    except TypeError as problem:
        raise ConfigError(f"the file beside the pairs has a config that is none: {problem}") from problem


def _power(calibration: "Calibration", score: str) -> str:
    """Say how often the test flags thieves, by shadows of them."""
    shares = ", ".join(f"{share:.0%} of {kind}" for kind, share in calibration.power[score].items())
    return f"Power: of shadow thieves on the same pairs this test flags {shares}."


def _report(
    path: Path,
    name: str,
    origin: str,
    scores: "Scores",
    verdict: "Verdict",
    calibration: "Calibration | None",
    made: dict[str, Any],
) -> None:
    from cfmark.cli.shadows import nulls_of
    from cfmark.evaluation import Accused, Report, report_page

    facts = {"suspect": name, "pairs": verdict.n, "level": verdict.alpha} | {
        k: made[k] for k in ("data", "scheme", "preset", "seed", "schema", "model") if k in made
    }
    accused = Accused(name, origin, None, None, scores, (verdict,), nulls_of(calibration, verdict))
    report = Report(
        title=f"Was {name} trained on our counterfactuals?",
        opening=tuple(verdict.in_words().split("\n")[: -len(verdict.assumptions) - 1]),
        accused=(accused,),
        facts=tuple((key, str(value)) for key, value in facts.items()),
    )
    write_text(path, report_page(report))
