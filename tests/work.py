"""Functions that worker processes find by name, for the tests of engines."""

import os
import signal
import time
from pathlib import Path

from cfmark.distributed import Workers, run


def square(number: int) -> int:
    return number * number


def leave_after(paths: tuple[str, str]) -> None:
    """Leave a file as soon as another one is there."""
    mine, other = map(Path, paths)
    while not other.exists():
        time.sleep(0.02)
    mine.touch()


def whoami(variable: str) -> tuple[int, str | None]:
    return os.getpid(), os.environ.get(variable)


def fail_at_three(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def play(part: tuple[str, str]) -> str:
    """Be quick, or be at work until somebody ends this process, or die when another one is at work."""
    role, path = part
    if role == "at work":
        Path(path).touch()
        time.sleep(60)
    while role == "die":
        if Path(path).exists():
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.02)
    return role


def tell_and_wait(path: str) -> None:
    """Leave a process id in a file, and work for a minute."""
    Path(path).write_text(str(os.getpid()))
    time.sleep(60)


def call(paths: list[str]) -> None:
    """Have two worker processes leave their ids and work, as a caller that is itself a process."""
    list(run(tell_and_wait, paths, Workers("processes", 2)))
