import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import trained
from cfmark.errors import ModelError
from cfmark.models import (
    JaxClassifier,
    TrainConfig,
    accuracy,
    classifier,
    describe,
    load_classifier,
    mlp,
    owner_config,
    read_facts,
    save_classifier,
)
from cfmark.types import predict

TARGETS = [
    pytest.param("cancer", 0.95),
    pytest.param("credit", 0.80, marks=pytest.mark.files),
    pytest.param("heloc", 0.68, marks=pytest.mark.files),
    pytest.param("loan", 0.80, marks=pytest.mark.files),
]


def network(width: int = 5, hidden: tuple[int, ...] = (8, 4)) -> JaxClassifier:
    return JaxClassifier(mlp.logits, mlp.init(jax.random.key(3), width, hidden))


def rows(n: int, width: int = 5) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(n).uniform(size=(n, width)).astype(np.float32)


@pytest.mark.parametrize(("name", "wanted"), TARGETS)
def test_the_owners_network_is_right_on_holdout_rows(name: str, wanted: float) -> None:
    holdout = trained.dataset(name).holdout
    assert accuracy(trained.classifier(name), holdout.x, holdout.y) >= wanted


def test_probabilities() -> None:
    x = rows(100)
    model = network()
    p = model.predict_proba(x)
    assert (p.shape, p.dtype) == ((100, 2), np.float32)
    assert p.min() >= 0
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(p, jax.nn.softmax(mlp.logits(model.params, x)), rtol=1e-5)
    assert accuracy(model, x, predict(model, x)) == 1
    assert accuracy(model, x, 1 - predict(model, x)) == 0


def test_probabilities_do_not_depend_on_chunks_or_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    x = rows(100)
    whole = network().predict_proba(x)
    for n in (1, 16, 17, 99):
        np.testing.assert_allclose(network().predict_proba(x[:n]), whole[:n], rtol=1e-5)
    monkeypatch.setattr(classifier, "CHUNK", 16)
    np.testing.assert_allclose(network().predict_proba(x), whole, rtol=1e-5)
    assert network().predict_proba(x[:0]).shape == (0, 2)


def test_a_tie_is_class_0() -> None:
    even = JaxClassifier(mlp.logits, mlp.Mlp((jnp.zeros((5, 2)),), (jnp.zeros(2),)))
    assert predict(even, rows(3)).tolist() == [0, 0, 0]


def test_longer_tables_get_larger_batches() -> None:
    sizes = [owner_config(n).batch_size for n in (500, 20_000, 200_000)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize("name", ["kept", "kept.npz", "kept.json", "deep/er/model.v2"])
def test_saved_and_loaded_bit_for_bit(tmp_path: Path, name: str) -> None:
    model = network()
    facts = {"dataset": "mine", "training": describe(TrainConfig())}
    save_classifier(model, tmp_path / name, **facts)
    again = load_classifier(tmp_path / name)
    jax.tree.map(np.testing.assert_array_equal, again.params, model.params)
    np.testing.assert_array_equal(again.predict_proba(rows(9)), model.predict_proba(rows(9)))
    assert read_facts(tmp_path / name) == {"format": 1, "sizes": [5, 8, 4, 2], **facts}
    assert not list(tmp_path.rglob("*.part"))


def test_names_with_a_dot_are_not_cut(tmp_path: Path) -> None:
    save_classifier(network(5), tmp_path / "model.v1")
    save_classifier(network(6), tmp_path / "model.v2")
    assert len(load_classifier(tmp_path / "model.v1").params.weights[0]) == 5


def test_only_networks_are_saved(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="only networks"):
        save_classifier(JaxClassifier(lambda params, x: x, {}), tmp_path / "kept")
    assert not list(tmp_path.iterdir())


class Unpickled(Exception):
    pass


class Bomb:
    """Raises if it is ever unpickled."""

    def __reduce__(self) -> Any:
        return _explode, ()


def _explode() -> None:
    raise Unpickled


def _arrays(path: Path, **changes: Any) -> None:
    with np.load(path / "kept.npz") as kept:
        arrays = {**kept, **changes}
    np.savez(path / "kept.npz", **{k: v for k, v in arrays.items() if v is not None})


def _header(path: Path, text: str | None = None, **changes: Any) -> None:
    header = json.loads((path / "kept.json").read_text())
    (path / "kept.json").write_text(text if text is not None else json.dumps(header | changes))


def _truncated(path: Path) -> None:
    whole = (path / "kept.npz").read_bytes()
    (path / "kept.npz").write_bytes(whole[: len(whole) // 2])


def _flipped(path: Path) -> None:
    whole = bytearray((path / "kept.npz").read_bytes())
    place = whole.index(np.asarray(network().params.weights[0]).tobytes())
    whole[place] ^= 0xFF
    (path / "kept.npz").write_bytes(bytes(whole))


def _garbage(path: Path) -> None:
    (path / "kept.npz").write_bytes(bytes(range(256)))


def _foreign_member(path: Path) -> None:
    with zipfile.ZipFile(path / "kept.npz", "w") as archive:
        archive.writestr("weight0.npy", b"not an array")


def _single_array(path: Path) -> None:
    with (path / "kept.npz").open("wb") as file:
        np.save(file, np.ones(3))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no numbers": lambda path: (path / "kept.npz").unlink(),
    "no header": lambda path: (path / "kept.json").unlink(),
    "empty numbers": lambda path: (path / "kept.npz").write_bytes(b""),
    "garbage": _garbage,
    "truncated": _truncated,
    "a flipped byte": _flipped,
    "a foreign member": _foreign_member,
    "a single array": _single_array,
    "pickled objects": lambda path: _arrays(path, weight0=np.array([Bomb()], object)),
    "an array is missing": lambda path: _arrays(path, bias1=None),
    "another shape": lambda path: _arrays(path, weight1=np.zeros((8, 5), np.float32)),
    "a flat weight": lambda path: _arrays(path, weight0=np.zeros(40, np.float32)),
    "another bias": lambda path: _arrays(path, bias0=np.zeros(1, np.float32)),
    "text": lambda path: _arrays(path, bias0=np.full(8, "x")),
    "double precision": lambda path: _arrays(path, bias0=np.zeros(8)),
    "NaN": lambda path: _arrays(path, bias0=np.full(8, np.nan, np.float32)),
    "a broken header": lambda path: _header(path, "{"),
    "a header of another kind": lambda path: _header(path, "[1, 2]"),
    "a header of no text": lambda path: (path / "kept.json").write_bytes(b"\xff\xfe\x00"),
    "no sizes": lambda path: _header(path, '{"format": 1}'),
    "sizes of text": lambda path: _header(path, sizes="5842"),
    "too few sizes": lambda path: _header(path, sizes=[2]),
    "other sizes": lambda path: _header(path, sizes=[5, 4, 8, 2]),
    "a longer network": lambda path: _header(path, sizes=[5, 8, 4, 2, 2]),
    "another format": lambda path: _header(path, format=2),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused(tmp_path: Path, damage: str) -> None:
    save_classifier(network(), tmp_path / "kept")
    load_classifier(tmp_path / "kept")
    DAMAGE[damage](tmp_path)
    with pytest.raises(ModelError, match="kept"):
        load_classifier(tmp_path / "kept.npz")


def test_the_bomb_goes_off_where_it_is_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "kept.npz", weight0=np.array([Bomb()], object))
    with np.load(tmp_path / "kept.npz", allow_pickle=True) as arrays, pytest.raises(Unpickled):
        arrays["weight0"]


@pytest.mark.parametrize("text", [None, "{", "3"])
def test_facts_that_cannot_be_read(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "kept.json").write_text(text)
    with pytest.raises(ModelError, match="not a saved network"):
        read_facts(tmp_path / "kept")
