"""What the front door and the rooms promise: names that are there, and imports that stay light."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import cfmark

SOURCE = Path(cfmark.__file__).parent
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


def loaded_by(statement: str) -> set[str]:
    """Return the modules that a fresh Python has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n"))


def offered(room: str) -> list[str]:
    """Read off a room's door what it defines in public, or imports under the same name on purpose."""
    names: list[str] = []
    for node in ast.parse((SOURCE / room / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            names += [alias.name for alias in node.names if alias.asname == alias.name]
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def house_order(name: str) -> tuple[int, str]:
    """Sort constants first, then classes, then the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_names_all_that_it_offers(room: str) -> None:
    module = import_module(f"cfmark.{room}")
    assert module.__all__ == sorted(module.__all__, key=house_order)
    assert set(module.__all__) == set(offered(room))
    assert all(hasattr(module, name) for name in module.__all__)


def test_the_front_door_leads_to_every_name() -> None:
    assert cfmark.__all__ == sorted(cfmark.__all__, key=house_order)
    assert set(cfmark.__all__) == set(cfmark._ROOM_OF)
    for name, room in cfmark._ROOM_OF.items():
        module = import_module(f"cfmark.{room}")
        assert getattr(cfmark, name) is getattr(module, name)
        assert room == "errors" or name in module.__all__
    assert set(cfmark.__all__) <= set(dir(cfmark))


def test_the_front_door_shows_type_checkers_the_same_names() -> None:
    """What is imported for type checkers alone must be what ``__getattr__`` finds."""
    (block,) = [
        node for node in ast.parse((SOURCE / "__init__.py").read_text()).body if isinstance(node, ast.If)
    ]
    seen = {
        alias.name: (node.module or "").removeprefix("cfmark.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == cfmark._ROOM_OF


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'cfmark' has no attribute 'nothing'"):
        getattr(cfmark, "nothing")  # noqa: B009


def test_the_front_door_is_light() -> None:
    assert not loaded_by("import cfmark") & {"jax", "numpy", "pandas", "sklearn", "typer"}
    assert not loaded_by("import cfmark.cli.app") & {"jax", "numpy", "pandas", "sklearn"}


def test_rooms_open_from_the_front_door() -> None:
    assert "cfmark.data" in loaded_by("import cfmark; cfmark.data")


def test_the_shared_nouns_need_no_room() -> None:
    loaded = loaded_by("import cfmark.types, cfmark.errors, cfmark.seeds")
    assert "cfmark.types" in loaded
    assert not loaded & {"jax", "pandas", *(f"cfmark.{room}" for room in ROOMS)}
