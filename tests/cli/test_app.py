import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfmark.cli import app, common
from cfmark.errors import CfmarkError


def test_version(cfmark: Callable[..., Any]) -> None:
    said = cfmark("--version")
    assert (said.code, said.out.split()[0]) == (0, "cfmark")


@pytest.mark.parametrize("command", ["demo", "explain", "watermark", "attack", "verify", "datasets"])
def test_help_teaches_with_an_example(command: str, cfmark: Callable[..., Any]) -> None:
    assert command in cfmark("--help").out
    said = cfmark(command, "--help")
    assert said.code == 0
    assert f"Example: cfmark {command}" in said.out


def test_help_reflows_its_paragraphs(cfmark: Callable[..., Any]) -> None:
    text = cfmark("explain", "--help").out.partition("Example:")[0]
    paragraph = [line.strip() for line in text.splitlines() if line.strip()][2:]
    assert all(len(line) > 60 for line in paragraph[:-1]), paragraph


@pytest.mark.parametrize(
    "arguments", [["--wrong"], ["explain", "--wrong"], ["explain", "-n", "0"], ["shave"]]
)
def test_wrong_usage_ends_with_2(arguments: list[str], cfmark: Callable[..., Any]) -> None:
    said = cfmark(*arguments)
    assert said.code == 2
    assert "Usage: cfmark" in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (
            CfmarkError("my.csv, column '[red]': no\n\n  such :x: thing"),
            "my.csv, column '[red]': no such :x: thing",
        ),
        (PermissionError(13, "Permission denied", "cfs.csv"), "cfs.csv: Permission denied"),
        (OSError(28, "No space left on device"), "No space left on device"),
    ],
)
def test_an_error_is_one_line(
    problem: Exception, line: str, cfmark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise problem

    monkeypatch.setattr(common, "open_dataset", fail)
    assert cfmark("demo").error == line


def test_a_mistake_of_ours_is_not_hidden(cfmark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "open_dataset", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cfmark("demo")


@pytest.mark.parametrize("place", ["command", "program"])
def test_ctrl_c_ends_without_a_traceback(
    place: str, cfmark: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(*{"command": (common, "open_dataset"), "program": (app, "run")}[place], stop)
    said = cfmark("demo")
    assert (said.code, said.err.strip()) == (130, "")


def test_the_module_runs_the_program_and_help_needs_neither_jax_nor_pandas(tmp_path: Path) -> None:
    code = (
        "import atexit, runpy, sys\n"
        "atexit.register(lambda: print({'jax', 'pandas', 'sklearn'} & set(sys.modules)))\n"
        "sys.argv[1:] = ['--help']\n"
        "runpy.run_module('cfmark', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Example: cfmark demo" in done.stdout
    assert done.stdout.rstrip().endswith("set()")
