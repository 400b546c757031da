"""How tests run the program: in this process, in a folder of its own, as a person would type it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from cfmark.cli import main


class Said(NamedTuple):
    """What the program ended with, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line of an error."""
        assert self.code == 1, self
        assert "Traceback" not in self.err
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: ")
        return lines[0].removeprefix("error: ")


Program = Callable[..., Said]


@pytest.fixture
def cfmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["cfmark", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        return Said(int(stopped.value.code or 0), *capsys.readouterr())

    return run
