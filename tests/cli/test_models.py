import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cfmark.cli.models import open_model
from cfmark.data import Dataset, cache_folder, from_table, load
from cfmark.data.datasets import synthetic
from cfmark.errors import CfmarkError, ConfigError, ModelError
from cfmark.models import BlackBox, owner, save_classifier

FRESH, KEPT = "a network trained on the train rows", "a network trained on the train rows, from the cache"


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load("synthetic", rows=200)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder and a cache folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CFMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def kept_files(ending: str) -> list[Path]:
    return sorted((cache_folder() / "models").glob(f"*{ending}"))


def test_a_model_is_trained_once(dataset: Dataset, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_model(dataset)
    assert first.origin == FRESH
    monkeypatch.delattr(owner, "fit_classifier")
    again = open_model(dataset)
    assert again.origin == KEPT
    x = dataset.holdout.x
    np.testing.assert_array_equal(again.classifier.predict_proba(x), first.classifier.predict_proba(x))
    assert (
        again.accuracy
        == first.accuracy
        == (first.classifier.predict_proba(x).argmax(1) == dataset.holdout.y).mean()
    )


@pytest.mark.parametrize("ending", [".npz", ".json"])
@pytest.mark.parametrize("damage", ["empty", "cut", "other", "gone", "changed"])
def test_a_damaged_model_is_trained_again(ending: str, damage: str, dataset: Dataset, here: Path) -> None:
    sound = open_model(dataset).classifier.predict_proba(dataset.holdout.x)
    (path,) = kept_files(ending)
    data = path.read_bytes()
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    damaged = {"empty": b"", "cut": data[:middle], "other": b"[]", "changed": flipped}
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(damaged[damage])
    again = open_model(dataset)
    np.testing.assert_array_equal(again.classifier.predict_proba(dataset.holdout.x), sound)
    assert again.origin == FRESH or (ending, damage) == (".json", "changed")
    assert open_model(dataset).origin == KEPT


def test_tables_of_the_same_name_have_models_of_their_own(here: Path) -> None:
    made = [from_table("mine", table, schema) for schema, table in (synthetic(200, 0), synthetic(200, 1))]
    opened = [open_model(dataset) for dataset in made]
    assert [model.origin for model in opened] == [FRESH, FRESH]
    assert len(kept_files(".npz")) == 2
    x = made[0].holdout.x
    assert not np.array_equal(*(model.classifier.predict_proba(x) for model in opened))


@pytest.mark.parametrize("part", ["x", "y"])
def test_another_table_is_another_model(part: str, dataset: Dataset, here: Path) -> None:
    open_model(dataset)
    turned = dataset.train._replace(**{part: getattr(dataset.train, part)[::-1]})
    assert open_model(replace(dataset, train=turned)).origin == FRESH


def test_a_cache_that_cannot_be_written_is_no_error(
    dataset: Dataset, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "file").write_text("")
    monkeypatch.setenv("CFMARK_CACHE", str(here / "file"))
    assert "cannot be written" in open_model(dataset).origin


def test_a_saved_network(dataset: Dataset, here: Path) -> None:
    own = open_model(dataset).classifier
    save_classifier(own, "x.npz")
    opened = open_model(dataset, "x.npz")
    assert opened.origin == "the network in x.npz"
    x = dataset.query.x
    np.testing.assert_array_equal(opened.classifier.predict_proba(x), own.predict_proba(x))
    Path("x.npz").write_bytes(b"PK")
    with pytest.raises(ModelError, match=r"^x.npz: not a saved network"):
        open_model(dataset, "x.npz")


def test_a_saved_network_of_another_width(dataset: Dataset, here: Path) -> None:
    save_classifier(open_model(dataset).classifier, "x.npz")
    with pytest.raises(ModelError, match=r"x.npz takes 11 encoded columns; cancer has 30"):
        open_model(load("cancer"), "x.npz")


def test_a_model_of_a_module_in_this_folder(dataset: Dataset, here: Path) -> None:
    (here / "rules.py").write_text("def rich(rows):\n    return (rows['x0'] > 0.5).astype(float)\n")
    opened = open_model(dataset, "rules:rich")
    assert opened.origin == "the model rules:rich"
    assert isinstance(opened.classifier, BlackBox)
    x0 = dataset.encoder.decode(dataset.holdout.x)["x0"]
    assert (opened.classifier.predict_proba(dataset.holdout.x)[:, 1] == (x0 > 0.5)).all()


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("none.npz", ModelError, "none.npz: there is no such file"),
        ("model.pkl", ConfigError, "--model model.pkl: expected a file 'model.npz' or 'module:attribute'"),
        (":x", ConfigError, "--model :x: expected"),
        (
            "not_there:x",
            ConfigError,
            "--model not_there:x: the module cannot be imported (ModuleNotFoundError: ",
        ),
        (
            "broken:x",
            ConfigError,
            "--model broken:x: the module cannot be imported (ZeroDivisionError: division",
        ),
        ("json:x", ConfigError, "--model json:x: the module 'json' has no 'x'"),
        ("json:__doc__", ModelError, "str has no predict_proba and cannot be called"),
        ("json:loads", ModelError, "loads failed on 8 rows of the schema"),
    ],
)
def test_a_model_that_is_none(
    name: str, kind: type[CfmarkError], message: str, dataset: Dataset, here: Path
) -> None:
    (here / "broken.py").write_text("1 / 0")
    with pytest.raises(kind) as raised:
        open_model(dataset, name)
    assert str(raised.value).startswith(message)
