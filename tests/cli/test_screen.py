import io
import sys

import pytest

from cfmark.cli import screen


def test_numbers_stand_on_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    table = screen.table("name", ">count")
    table.add_row("a long name", "1")
    table.add_row("b", "1,000")
    screen.console().print(table)
    lines = capsys.readouterr().out.splitlines()
    assert "  a long name       1" in lines[3]
    assert "  b             1,000" in lines[4]


def test_text_is_shown_as_it_is_and_up_to_120_wide(capsys: pytest.CaptureFixture[str]) -> None:
    text = "[red]:x:" + "y" * 110
    screen.console().print(text)
    assert capsys.readouterr().out == text + "\n"


def test_progress_in_plain_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(screen.time, "monotonic", lambda: now)
    with screen.progress("rows", 4_000, 1_000) as tell:
        tell(500)
        now = 6.0
        tell(500)
        now = 7.0
        tell(500)
    assert capsys.readouterr().err == "rows: 2,000 of 4,000, 12 s left\n"
    with screen.progress("rows", None) as tell:
        now = 14.0
        tell(10)
    assert capsys.readouterr().err == "rows: 10\n"


def test_progress_is_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with screen.progress("rows", 40, 10) as tell:
        tell(10)
    assert "20/40" in terminal.getvalue()
