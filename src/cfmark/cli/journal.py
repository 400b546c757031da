"""Files that are written piece by piece: what is done is on disk, and a stopped run can go on.

The answers go to ``OUT.part`` and become ``OUT`` when all are there. ``OUT.part.json`` beside the first file
says how far all of them are complete and what they were made with.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from cfmark.errors import ConfigError, TableError


class Journal:
    """One or more CSV files that grow together, for one list of queries."""

    def __init__(self, outs: list[Path], settings: dict[str, Any]) -> None:
        self.outs, self.settings = outs, settings
        self.parts = [part_of(out) for out in outs]
        self.notes = _with(outs[0], ".part.json")

    def begin(self, *, resume: bool) -> int:
        """Return how many queries are completely answered; without ``resume``, start anew."""
        if resume and self.parts[0].is_file():
            return self._resume()
        for part in self.parts:
            part.unlink(missing_ok=True)
        return 0

    def write(self, tables: list[pd.DataFrame], queries: int) -> None:
        """Append a table to each file, and note that so many queries are answered now."""
        for part, table in zip(self.parts, tables, strict=True):
            with part.open("a", encoding="utf-8", newline="") as file:
                table.to_csv(file, index=False, header=file.tell() == 0, lineterminator="\n")
        sizes = [part.stat().st_size for part in self.parts]
        text = json.dumps({"settings": self.settings, "queries": queries, "bytes": sizes})
        fresh = _with(self.notes, ".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self.notes)

    def finish(self) -> None:
        """Give the files their names."""
        for part, out in zip(self.parts, self.outs, strict=True):
            part.replace(out)
        self.notes.unlink(missing_ok=True)

    def _resume(self) -> int:
        try:
            noted = json.loads(self.notes.read_text(encoding="utf-8"))
            made_with, queries = noted["settings"], int(noted["queries"])
            sizes = dict(zip(self.parts, map(int, noted["bytes"]), strict=True))
        except (OSError, ValueError, KeyError, TypeError):
            raise ConfigError(f"{self.notes} cannot be read: run without --resume to start again") from None
        if other := sorted(name for name in self.settings if made_with.get(name) != self.settings[name]):
            raise ConfigError(
                f"{self.parts[0]} was made with another {' and '.join(other)}: "
                "run without --resume to start again"
            )
        for part, size in sizes.items():
            if not part.is_file() or part.stat().st_size < size:
                raise TableError(
                    "some answers are gone; run without --resume to start again", source=str(part)
                )
        for part, size in sizes.items():
            with part.open("r+b") as file:
                file.truncate(size)
        return queries


def check_out(out: Path, name: str = "--out") -> None:
    """Refuse, before any long work, a file that could not be written after it."""
    if out.is_dir():
        raise ConfigError(f"{name} {out}: that is a folder; name a file in it")
    if out.suffix != ".csv":
        raise ConfigError(f"{name} {out}: the answers are written as CSV; name a file that ends in .csv")
    part = part_of(out)
    there = part.exists()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        part.open("ab").close()
    except OSError as problem:
        raise ConfigError(f"{name} {out}: cannot be written ({problem.strerror})") from problem
    if not there:
        part.unlink()


def part_of(out: Path) -> Path:
    """Return the file that holds the answers until all are there."""
    return _with(out, ".part")


def _with(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
