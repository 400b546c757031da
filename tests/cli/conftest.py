"""How tests run the program: in this process, in a folder of its own, as a person would type it."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from cfmark.cli import main
from cfmark.data import load, write_table
from owner_files import QUERIES, QUICK


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


@pytest.fixture(scope="session")
def owner_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which ``explain`` and ``watermark`` ran on a few Cancer rows."""
    folder = tmp_path_factory.mktemp("owner")
    cancer = load("cancer")
    write_table(cancer.encoder.decode(cancer.query.x[:QUERIES]), folder / "queries.csv")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for command in (["explain", "--out", "cfs.csv"], ["watermark", "--cfs", "cfs.csv", *QUICK]):
            patched.setattr(sys, "argv", ["cfmark", *command, "--rows", "queries.csv"])
            with pytest.raises(SystemExit) as stopped:
                main()
            assert not stopped.value.code
    return folder


@pytest.fixture
def owned(owner_files: Path, tmp_path: Path) -> Path:
    """The test's own folder, with copies of the owner's files in it."""
    for file in owner_files.iterdir():
        shutil.copy(file, tmp_path / file.name)
    return tmp_path
