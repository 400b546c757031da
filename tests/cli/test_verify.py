import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfmark.calibration import CalibrationConfig
from cfmark.cli import verify as command
from cfmark.cli.models import open_model
from cfmark.cli.pairs_file import read_pairs
from cfmark.data import Dataset, load, read_table, write_table
from cfmark.models import save_classifier
from cfmark.seeds import derive_seed
from cfmark.verification import Verdict, sample_pairs, verify
from owner_files import PAIRS

Cfmark = Callable[..., Any]
T = ["--test", "t", "--tau", "0.05"]
SUSPECTS = """
import numpy as np


class Suspect:
    def __init__(self, answer):
        self.answer = answer

    def predict_proba(self, x):
        return self.answer(np.asarray(x, float))


def half(x):
    return np.full((len(x), 2), 0.5)


def broken(x):
    raise RuntimeError("out of order")


def lone(x):
    raise KeyboardInterrupt


fair = Suspect(half)
short = Suspect(lambda x: half(x)[1:])
three = Suspect(lambda x: np.full((len(x), 3), 1 / 3))
nothing = Suspect(lambda x: half(x) * np.nan)
heavy = Suspect(lambda x: half(x) * 1.2)
minus = Suspect(lambda x: half(x) + [[1, -1]])
words = Suspect(lambda x: [["yes", "no"]] * len(x))
fails = Suspect(broken)
number = 3
late = Suspect(lambda x: half(x) if len(x) in (8, 113) else half(x)[1:])
"""


@pytest.fixture(scope="module")
def cancer() -> Dataset:
    return load("cancer")


@pytest.fixture
def suspects(owned: Path, cancer: Dataset) -> Path:
    """The owner's files, a module of suspects, and the owner's own network as one."""
    (owned / "suspects.py").write_text(SUSPECTS)
    save_classifier(open_model(cancer).classifier, owned / "copy.npz")
    return owned


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few shadows."""

    def made(pool: str, families: str | None, shadows: int, alpha: float) -> CalibrationConfig:
        return CalibrationConfig(fit=10, rank=shadows, power=10, alpha=alpha, families=("mlp",))

    monkeypatch.setattr(command, "_shadow_models", made)


def test_the_verdict_is_the_librarys(suspects: Path, cfmark: Cfmark, cancer: Dataset) -> None:
    said = cfmark("verify", "--suspect", "copy.npz", *T)
    assert said.code == 0, said
    verdict = Verdict.from_json(Path("verdict.json").read_text())
    classifier = open_model(cancer).classifier
    assert verdict == verify(classifier, read_pairs(cancer, PAIRS), tau=0.05)
    assert verdict.in_words() in said.out
    assert said.out.startswith("Suspect: the network in copy.npz; it is right on 9")


def test_a_sample_of_the_pairs(suspects: Path, cfmark: Cfmark, cancer: Dataset) -> None:
    assert cfmark("verify", "--suspect", "copy.npz", *T, "--pairs-used", 3, "--seed", 2).code == 0
    draw = np.random.default_rng(derive_seed("verify", "pairs", 2))
    asked = sample_pairs(read_pairs(cancer, PAIRS), 3, draw)
    wanted = verify(open_model(cancer).classifier, asked, tau=0.05)
    assert Verdict.from_json(Path("verdict.json").read_text()) == wanted


@pytest.mark.usefixtures("few")
def test_calibrated_on_shadows(suspects: Path, cfmark: Cfmark) -> None:
    arguments = ["--suspect", "copy.npz", "--shadows", 19, "--report", "r.html"]
    said = cfmark("verify", *arguments)
    assert said.code == 0, said
    verdict = Verdict.from_json(Path("verdict.json").read_text())
    assert (verdict.test, verdict.details["score"]) == ("calibrated", "ratio")
    kinds = verdict.details["kinds"]
    assert list(kinds) == ["queries, mlp", "queries (hard labels), mlp"]
    assert {kind["samples"] for kind in kinds.values()} == {19}
    assert "Power: of shadow thieves on the same pairs this test flags " in said.out
    page = Path("r.html").read_text()
    assert "Was copy.npz trained on our counterfactuals?" in page
    assert page.count("<svg") == 2
    before = Path("verdict.json").read_bytes()
    assert cfmark("verify", *arguments).code == 0
    assert Path("verdict.json").read_bytes() == before


@pytest.mark.usefixtures("few")
def test_the_strict_pool(suspects: Path, cfmark: Cfmark) -> None:
    said = cfmark("verify", "--suspect", "copy.npz", "--shadows", 19, "--pool", "all", "--score", "mean")
    assert said.code == 0, said
    kinds = Verdict.from_json(Path("verdict.json").read_text()).details["kinds"]
    names = {kind.removesuffix(", mlp").removesuffix(" (hard labels)") for kind in kinds}
    assert names == {"queries", "true_labels", "unmarked", "foreign"}


@pytest.mark.usefixtures("few")
def test_a_margin_that_is_learnt(suspects: Path, cfmark: Cfmark) -> None:
    said = cfmark("verify", "--suspect", "suspects:fair", "--test", "t", "--shadows", 19)
    assert said.code == 0, said
    verdict = Verdict.from_json(Path("verdict.json").read_text())
    assert verdict.test == "t"
    assert verdict.tau not in (0.0, 0.05)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("short", "Suspect answered with shape (7, 2) to 8 rows"),
        ("three", "Suspect answered with shape (8, 3) to 8 rows"),
        ("nothing", "Suspect answered with a value that is not finite"),
        ("heavy", "Suspect answered probabilities that sum to 1.2, not to 1"),
        ("minus", "Suspect answered 1.5, which is not a probability"),
        ("words", "Suspect answered with something that is not numbers"),
        ("fails", "Suspect failed on 8 rows of the schema: out of order"),
        ("late", "Suspect answered with shape "),
        ("number", "int has no predict_proba and cannot be called"),
        ("nobody", "--suspect suspects:nobody: the module 'suspects' has no 'nobody'"),
    ],
)
def test_a_suspect_that_answers_nonsense(name: str, message: str, suspects: Path, cfmark: Cfmark) -> None:
    assert cfmark("verify", "--suspect", f"suspects:{name}", *T).error.startswith(message)
    assert not Path("verdict.json").exists()


def no_pairs() -> None:
    """Every counterpart as it was issued."""
    table = read_table(PAIRS)
    issued = table[table["role"] == "issued"]
    table.loc[table["role"] == "counterpart", table.columns[3:]] = issued[table.columns[3:]].to_numpy()
    write_table(table, PAIRS)


def other_facts() -> None:
    facts = json.loads(Path("pairs.json").read_text())
    Path("pairs.json").write_text(json.dumps({**facts, "model": "another"}))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--test", "coin"], "--test coin: choose one of t, calibrated"),
        (["--pool", "some"], "--pool some: choose one of queries, all"),
        (["--score", "max"], "--score max: choose one of mean, ratio"),
        (["--families", "mlp,oak"], "--families oak: choose among mlp, "),
        (["--alpha", 0], "rank = 199 shadows can never reach alpha = 0.0"),
        (["--shadows", 10], "rank = 10 shadows can never reach alpha = 0.05"),
        (["--tau", 2], "tau is 2.0; it must lie between -1 and 1"),
        (["--pairs-used", 500], "500 pairs cannot be drawn from "),
        (["--pairs", "none.csv"], "none.csv: there is no such file"),
        (["--pairs", "queries.csv"], "queries.csv, column 'query': the column is missing"),
        (["--suspect", "none.npz"], "none.npz: there is no such file"),
        (["--suspect", "copy"], "--suspect copy: expected a file 'model.npz' or 'module:attribute'"),
        (["--suspect", "other.npz"], "other.npz takes 11 encoded columns; cancer has 30"),
        (["--out", "pairs.csv"], "--out pairs.csv: that belongs to the pairs; choose another name"),
        (["--report", "pairs.json"], "--report pairs.json: that belongs to the pairs"),
        (["--report", "none/r.html"], "--report none/r.html: name a file in a folder that is there"),
        (["--schema", "paper"], "pairs.csv was made with another schema than --data and --schema name now"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[Any], message: str, suspects: Path, cfmark: Cfmark
) -> None:
    save_classifier(open_model(load("synthetic", rows=400)).classifier, "other.npz")
    there = {path.name: path.read_bytes() for path in suspects.iterdir() if path.is_file()}
    assert cfmark("verify", "--suspect", "copy.npz", *T, *arguments).error.startswith(message)
    assert {path.name: path.read_bytes() for path in suspects.iterdir() if path.is_file()} == there


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_pairs, "there is no pair to test: no issued counterfactual differs from its counterpart"),
        (other_facts, "pairs.csv was made with another model than --model names; shadows need the owner's"),
        (lambda: Path("pairs.json").write_text("{"), "pairs.json: not readable as JSON"),
    ],
)
def test_pairs_that_do_not_fit(
    spoil: Callable[[], Any], message: str, suspects: Path, cfmark: Cfmark
) -> None:
    spoil()
    assert cfmark("verify", "--suspect", "copy.npz").error.startswith(message)


def test_pairs_without_facts_can_be_tested(suspects: Path, cfmark: Cfmark) -> None:
    Path("pairs.json").unlink()
    said = cfmark("verify", "--suspect", "copy.npz", *T)
    assert said.code == 0, said
    assert "pairs.json is not there: nothing says what made pairs.csv" in said.err


def test_usage(cfmark: Cfmark) -> None:
    assert cfmark("verify").code == 2
    assert cfmark("verify", "--suspect", "x.npz", "--pairs-used", "many").code == 2
    assert "Example: cfmark verify --suspect suspect.npz" in cfmark("verify", "--help").out
