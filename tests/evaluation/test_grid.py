from pathlib import Path

import pytest

from cfmark.errors import ConfigError
from cfmark.evaluation.grid import (
    FIGURES,
    TABLES,
    Experiment,
    facts_of,
    read_experiment,
    reason_to_skip,
    select,
    units,
)
from cfmark.evaluation.settings import Settings

EXPERIMENTS = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))
PLAIN = 'dataset = ["cancer", "heloc"]\nexplainer = ["dice"]\n'
VARIED = PLAIN + "[variants]\nregularisation = [0.0, 0.5]\nbackground = [0, 64]\n"


def written(folder: Path, text: str, name: str = "made.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plain_experiment(tmp_path: Path) -> None:
    read = read_experiment(written(tmp_path, PLAIN))
    assert read == Experiment("made", ("cancer", "heloc"), ("dice",))
    assert (read.draws, read.settings, read.scheme, read.tables) == (
        5,
        Settings(),
        ("bilevel",),
        ("detection",),
    )


def test_ids_and_seeds_never_change(tmp_path: Path) -> None:
    """What is on disk goes by these ids, and results are drawn with these seeds."""
    of_grid = units(read_experiment(written(tmp_path, VARIED), repeats=20))
    assert len(of_grid) == 2 * 4 * 2
    assert of_grid[0].id == "cancer/dice/bilevel/regularisation=0.0/background=0/draw0"
    assert of_grid[-1].id == "heloc/dice/bilevel/regularisation=0.5/background=64/draw1"
    assert len({unit.id for unit in of_grid}) == 16
    assert of_grid[0].seed("mark") == of_grid[2].seed("mark") == 1806305624
    assert of_grid[1].seed("mark") == 1316521846
    assert of_grid[-1].seed("suspect", "mrce", 3) == 1414558677


def test_a_list_of_variants_names_every_point(tmp_path: Path) -> None:
    text = PLAIN + '[[variants]]\npoison_form = "kl"\n[[variants]]\nhidden = [8, 4]\n'
    read = read_experiment(written(tmp_path, text))
    assert read.variants == ((("poison_form", "kl"),), (("hidden", (8, 4)),))
    assert units(read)[5].cell == "cancer/dice/bilevel/hidden=(8, 4)"


def test_settings_are_fields_of_theirs(tmp_path: Path) -> None:
    text = (
        PLAIN + '[settings]\nseeds = 2\nattacks = ["mrce"]\nalpha = 1\nremoval = "prune"\nstrengths = [0.5]\n'
    )
    settings = read_experiment(written(tmp_path, text)).settings
    assert settings == Settings(seeds=2, attacks=("mrce",), alpha=1.0, removal="prune", strengths=(0.5,))


@pytest.mark.parametrize(
    ("repeats", "draws", "seeds"), [(None, 5, 10), (50, 5, 10), (10, 1, 10), (3, 1, 3), (100, 10, 10)]
)
def test_repeats_are_draws_times_seeds(repeats: int | None, draws: int, seeds: int, tmp_path: Path) -> None:
    read = read_experiment(written(tmp_path, PLAIN), repeats)
    assert (read.draws, read.settings.seeds) == (draws, seeds)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dataset = [", "no TOML file"),
        ('explainer = ["dice"]', "dataset: at least one of cancer, credit"),
        (PLAIN + 'explainers = ["dice"]', "there is no 'explainers'; there are name, title, dataset"),
        ('dataset = ["iris"]\nexplainer = ["dice"]', "dataset: there is no 'iris'; there are cancer, credit"),
        ('dataset = "cancer"\nexplainer = ["dice"]', "dataset: expected a list of different names"),
        (
            'dataset = ["cancer", "cancer"]\nexplainer = ["dice"]',
            "dataset: expected a list of different names",
        ),
        (PLAIN + 'scheme = ["twin"]', "scheme: there is no 'twin'; there are bilevel, random"),
        (PLAIN + 'tables = ["f1"]', "tables: there is no 'f1'; there are detection, quality"),
        (PLAIN + 'figures = ["pie"]', "figures: there is no 'pie'; there are confusion"),
        (PLAIN + "repeats = 0", "repeats = 0: up to 10 (the seeds), or a multiple of that"),
        (PLAIN + "repeats = 25", "repeats = 25: up to 10 (the seeds), or a multiple of that"),
        (PLAIN + "[settings]\nqueris = 3", "settings: there is no 'queris'; there are preset, queries"),
        (PLAIN + '[settings]\nqueries = "3"', "settings: queries = '3' is not a int"),
        (PLAIN + "[settings]\nqueries = true", "settings: queries = True is not a int"),
        (PLAIN + '[settings]\nattacks = ["mrce", "bite"]', "settings: attacks: 'bite' is not one of"),
        (PLAIN + "[variants]\nlambda3 = [1.0]", "variants of bilevel: there is no 'lambda3'; there are"),
        (
            PLAIN + "[variants]\ndelta = [0.1, 2.0]",
            "variants of bilevel: {'delta': 2.0}: delta must be above 0",
        ),
        (PLAIN + '[[skip]]\ndataset = "heloc"', "skip: an entry says what (dataset = ..., explainer = ...)"),
        (
            PLAIN + '[[skip]]\ndataset = "loan"\nreason = "x"',
            "skip: dataset has no 'loan' here; there are cancer",
        ),
    ],
)
def test_a_file_that_says_something_else(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as raised:
        read_experiment(path)
    assert str(raised.value).startswith(f"{path}: {message}")


def test_a_filter_chooses_units(tmp_path: Path) -> None:
    of_grid = units(read_experiment(written(tmp_path, VARIED)))
    assert select(of_grid, "") == of_grid
    chosen = select(of_grid, "dataset=heloc, regularisation=0.5,draw=1|3")
    assert [unit.id for unit in chosen] == [
        f"heloc/dice/bilevel/regularisation=0.5/background={rows}/draw{draw}"
        for rows in (0, 64)
        for draw in (1, 3)
    ]
    assert facts_of(chosen[0])["background"] == "0"


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("data=heloc", "there is no axis 'data'; there are dataset, explainer, scheme, regularisation"),
        ("dataset=loan", "dataset has no 'loan' here; there are cancer, heloc"),
        ("draw=0|7", "draw has no '7' here; there are 0, 1, 2, 3, 4"),
        ("dataset", "expected AXIS=VALUE"),
    ],
)
def test_a_filter_that_matches_nothing(only: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--only") as raised:
        select(units(read_experiment(written(tmp_path, VARIED))), only)
    assert message in str(raised.value)


def test_values_that_never_meet(tmp_path: Path) -> None:
    text = PLAIN + '[[variants]]\npoison_form = "kl"\n[[variants]]\nsteps = 3\n'
    with pytest.raises(ConfigError, match="no unit has all of these values together"):
        select(units(read_experiment(written(tmp_path, text))), "poison_form=kl,steps=3")


def test_what_is_left_out_has_a_reason(tmp_path: Path) -> None:
    text = PLAIN + '[[skip]]\ndataset = "heloc"\ndraw = 2\nreason = "it is late"\n'
    read = read_experiment(written(tmp_path, text))
    left_out = {unit.id: reason_to_skip(read, unit) for unit in units(read)}
    assert {unit for unit, reason in left_out.items() if reason} == {"heloc/dice/bilevel/draw2"}
    assert left_out["heloc/dice/bilevel/draw2"] == "it is late"


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_the_papers_experiments_can_be_read(path: Path) -> None:
    read = read_experiment(path)
    assert read.name == path.stem
    assert read.title
    assert units(read)
    assert set(read.tables) <= set(TABLES)
    assert set(read.figures) <= set(FIGURES)


def test_the_papers_experiments_are_all_here() -> None:
    """Table 1 is 12 cells of 50 repeats; a target of the Makefile runs each."""
    makefile = (EXPERIMENTS[0].parents[1] / "Makefile").read_text(encoding="utf-8")
    named = makefile.partition("PAPER :=")[2].partition("BENCH_OPTIONS")[0].replace("\\", "").split()
    assert set(named) == {path.stem for path in EXPERIMENTS} - {"smoke"}
    table1 = read_experiment(next(path for path in EXPERIMENTS if path.stem == "table1"))
    assert len(units(table1)) * table1.settings.seeds == 12 * 50


def test_the_guides_example_can_be_read(tmp_path: Path) -> None:
    guide = Path(__file__).parents[2] / "docs" / "adding" / "experiment.md"
    text = guide.read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    read = read_experiment(written(tmp_path, text))
    assert len(units(read)) == 2 * 3 * 5
    assert sum(reason_to_skip(read, unit) is not None for unit in units(read)) == 3
