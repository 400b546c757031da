"""The rules of the house that no linter checks."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = sorted((ROOT / "src").rglob("*.py"))
PYTHON = SOURCE + [
    path for room in ("tests", "examples", "benchmarks") for path in sorted((ROOT / room).rglob("*.py"))
]


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_every_file_of_the_library_says_what_it_is_for() -> None:
    silent = [path for path in SOURCE if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert silent == []


def test_no_function_of_the_library_has_more_than_forty_statement_lines() -> None:
    """Count the lines of a body below its docstring; signatures of commands are long by nature."""
    long = [
        f"{path.name}:{node.lineno} {node.name}"
        for path in SOURCE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and body_lines(node) > 40
    ]
    assert long == []


def body_lines(node: ast.FunctionDef) -> int:
    body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
    return (node.end_lineno or 0) - body[0].lineno + 1


def test_nothing_unpickles() -> None:
    """Nothing loads a pickle: not the library, not through pandas, NumPy or joblib."""
    unpickles = re.compile(r"\b(pickle|joblib|cloudpickle|read_pickle|dill)\b|allow_pickle=True")
    found = [path.name for path in SOURCE if unpickles.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_every_command_of_the_makefile_is_declared() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    declared = set(re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)[0].split())
    assert declared == set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
