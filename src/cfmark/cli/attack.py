"""``cfmark attack``: play the thief, and see how good the copy is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cfmark.cli.common import DataOption, ModelOption, SchemaOption, open_dataset, start_jax
from cfmark.cli.watermark import DeltaOption, MethodOption, PresetOption, ProximityOption, scheme_of
from cfmark.errors import ConfigError

if TYPE_CHECKING:
    from cfmark.data import Dataset
    from cfmark.types import Classifier, FloatArray, IntArray, Transcript

_NAMES = {"query": 0, "counterfactual": 1, "counterfactual of one": 2}
QUERIES = 128


def attack(
    kind: Annotated[
        str, typer.Option(help="query, mrce, dual_cf, or true_labels (an innocent).", show_default=False)
    ],
    data: DataOption = "cancer",
    schema: SchemaOption = None,
    rows: Annotated[
        Path | None, typer.Option(help="The rows to ask about; by default 128 of the query rows.")
    ] = None,
    cfs: Annotated[
        Path | None,
        typer.Option(help="What the service issued for the rows, from 'cfmark watermark', to be used."),
    ] = None,
    queries: Annotated[
        int | None, typer.Option(min=1, help="Take so many of the rows, at random; by default all of a file.")
    ] = None,
    labels: Annotated[
        str,
        typer.Option(
            help="What is learnt: probabilities (soft), classes (hard), or assumed classes (opposite)."
        ),
    ] = "soft",
    family: Annotated[
        str, typer.Option(help="The copy: mlp, mlp_small, mlp_large, logistic, forest or boosting.")
    ] = "mlp",
    out: Annotated[Path | None, typer.Option(help="Where to save the copy, as .npz; networks only.")] = None,
    transcript: Annotated[Path | None, typer.Option(help="Where to save what was gathered, as CSV.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Decides the rows taken and the training.")] = 0,
    model: ModelOption = None,
    method: MethodOption = "growing_sphere",
    preset: PresetOption = "default",
    delta: DeltaOption = None,
    proximity: ProximityOption = None,
    service_seed: Annotated[int, typer.Option(min=0, help="The owner's seed, as for 'explain'.")] = 0,
) -> None:
    """Copy the owner's model by asking its service, and say how far the copy agrees with it.

    The service runs in this process: the model, the counterfactual method and the marks, seeded as the
    commands 'explain' and 'watermark' are. With --cfs it gives those answers again; a query that is not
    in the file (DualCF asks about counterfactuals) is explained and marked afresh.

    Only networks can be saved: a scikit-learn model is no plain list of numbers, and cfmark never reads a
    pickled one. Save the transcript instead, train the model on it in a module of your own, and give
    'cfmark verify' its name.

    Example: cfmark attack --kind mrce --rows queries.csv --cfs marked.csv --out suspect.npz

    Example: cfmark attack --kind dual_cf --labels hard --out suspect.npz

    Example: cfmark attack --kind mrce --family forest --transcript gathered.csv
    """
    _check_options(kind, labels, family, out, transcript, rows, cfs)
    dataset = open_dataset(data, schema)
    start_jax()
    import jax

    from cfmark.attacks import agreement, extract
    from cfmark.cli.models import open_model
    from cfmark.models import accuracy
    from cfmark.seeds import derive_seed

    config = scheme_of(preset, method, dataset.name, delta, proximity, None)
    opened = open_model(dataset, model)
    x, y = _rows(dataset, rows, queries, kind, seed)
    if kind == "true_labels":
        learnt = _own(x, y)
    else:
        service = _service(dataset, opened.classifier, rows, cfs, method, config, service_seed)
        learnt = _gathered(kind, service, x, labels)
    copy = extract(jax.random.key(derive_seed("attack", kind, labels, family, seed)), learnt, family)
    typer.echo(_gathering(kind, learnt, len(x)))
    holdout = dataset.holdout
    same = agreement(copy, opened.classifier, holdout.x)
    right = accuracy(copy, holdout.x, holdout.y)
    typer.echo(
        f"The copy ({family}, {labels} labels) agrees with the owner's model on {same:.1%} of "
        f"{len(holdout.y):,} holdout rows, and is right on {right:.1%}."
    )
    _save(copy, learnt, dataset, out, transcript, {"kind": kind, "labels": labels, "family": family})


def _check_options(
    kind: str,
    labels: str,
    family: str,
    out: Path | None,
    transcript: Path | None,
    rows: Path | None,
    cfs: Path | None,
) -> None:
    """Refuse, before any long work, what could not be done after it."""
    from cfmark.attacks import ATTACKS, FAMILIES, NETWORKS
    from cfmark.cli.journal import check_out

    known = {"kind": (*ATTACKS, "true_labels"), "labels": ("soft", "hard", "opposite"), "family": FAMILIES}
    for name, value in {"kind": kind, "labels": labels, "family": family}.items():
        if value not in known[name]:
            raise ConfigError(f"--{name} {value}: choose one of {', '.join(known[name])}")
    if out is not None and family not in NETWORKS:
        raise ConfigError(
            f"--out {out}: only networks can be saved as plain numbers, a {family} cannot; leave --out away, "
            "or save --transcript and train the model in a module of your own"
        )
    if out is not None and (out.suffix != ".npz" or not out.parent.is_dir()):
        raise ConfigError(f"--out {out}: name a file that ends in .npz, in a folder that is there")
    if transcript is not None:
        check_out(transcript, "--transcript")
        if any(path is not None and path.resolve() == transcript.resolve() for path in (rows, cfs)):
            raise ConfigError(f"--transcript {transcript}: that is a file to be read; choose another name")


def _rows(
    dataset: "Dataset", rows: Path | None, queries: int | None, kind: str, seed: int
) -> "tuple[FloatArray, IntArray]":
    """Return the rows that the attacker has, and their true classes (zeros where nobody needs them)."""
    import numpy as np

    from cfmark.cli.stream import CHUNK
    from cfmark.data import read_chunks
    from cfmark.seeds import derive_seed

    x, y = dataset.query.x, dataset.query.y
    if rows is not None:
        tables = list(read_chunks(rows, CHUNK))
        x = np.concatenate([dataset.encoder.encode(table, str(rows)) for table in tables])
        y = np.zeros(len(x), np.int64)
        if kind == "true_labels":
            y = np.concatenate([dataset.encoder.encode_labels(table, str(rows)) for table in tables])
    wanted = queries or (len(x) if rows is not None else min(QUERIES, len(x)))
    if wanted > len(x):
        raise ConfigError(f"--queries {wanted}: there are {len(x)} rows")
    if wanted == len(x):
        return x, y
    random = np.random.default_rng(derive_seed("attack", "rows", seed))
    chosen = np.sort(random.choice(len(x), wanted, replace=False))
    return x[chosen], y[chosen]


def _service(
    dataset: "Dataset",
    classifier: "Classifier",
    rows: Path | None,
    cfs: Path | None,
    method: str,
    config: Any,
    seed: int,
) -> Any:
    from cfmark.cli.cf_file import read_all
    from cfmark.cli.service import Service

    given = None if cfs is None else read_all(dataset, classifier, rows, cfs)
    n_cfs = 1 if given is None else given.cf.shape[1]
    return Service(dataset, classifier, method, n_cfs, config, seed, given)


def _gathered(kind: str, service: Any, x: "FloatArray", labels: str) -> "Transcript":
    from cfmark.attacks import attacked

    return attacked(kind, service.oracle(), x, labels)


def _own(x: "FloatArray", y: "IntArray") -> "Transcript":
    from cfmark.attacks import true_labels

    return true_labels(x, y)


def _gathering(kind: str, learnt: "Transcript", rows: int) -> str:
    """Say what was gathered."""
    counts = [(int((learnt.kind == number).sum()), name) for name, number in _NAMES.items()]
    kept = ", ".join(f"{count:,} x {name}" for count, name in counts if count)
    if kind == "true_labels":
        return f"true_labels: {rows:,} rows with their true classes; nothing was asked"
    return f"{kind}: {kept}; {learnt.requests:,} rows were sent to the service"


def _save(
    copy: "Classifier",
    learnt: "Transcript",
    dataset: "Dataset",
    out: Path | None,
    transcript: Path | None,
    facts: dict[str, Any],
) -> None:
    import numpy as np

    from cfmark.data import write_table
    from cfmark.models import JaxClassifier, save_classifier

    if out is not None and isinstance(copy, JaxClassifier):
        save_classifier(copy, out, dataset=dataset.name, **facts)
        typer.echo(f"{out}: the copy", err=True)
    if transcript is not None:
        table = dataset.encoder.decode(learnt.x)
        for number, label in enumerate(dataset.schema.labels):
            table[f"p({label})"] = learnt.y[:, number]
        table.insert(0, "kind", np.array(list(_NAMES))[learnt.kind])
        write_table(table, transcript)
        typer.echo(f"{transcript}: what was gathered, {len(table):,} rows", err=True)
