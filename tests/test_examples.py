"""Every script in examples/ runs as it stands, and says what it is meant to show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SAID = {
    "own_generator": r"found (?P<share>\d+)%, valid (?P=share)%, L1 \d+\.\d+\n0 violations",
    "own_model": r"growing_sphere +found +100% +valid +100% .*\ndice +found +100% +valid +100% ",
    "whose_model": r"\d+ of 64 counterfactuals carry a mark\n"
    r"thief +t: flagged .*\nthief +calibrated: flagged .*\n"
    r"innocent +t: not flagged .*\ninnocent +calibrated: not flagged .*\n$",
    "quickstart": r"16 queries: found 100%, valid 100%\n(.*\n)+  .* -> .*",
}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    program = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert re.match(SAID[name], done.stdout), done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", SAID)
def test_an_example_is_short(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 40
