"""Functions that worker processes find by name, for the tests of engines."""

import os
import signal
import time
from pathlib import Path


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


def die_at_three(number: int) -> int:
    """Kill the process at 3, when 0, 1 and 2 are done."""
    if number == 3:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    if number > 3:
        time.sleep(60)
    return number


def tell_and_wait(path: str) -> None:
    """Leave a process id in a file, and work for a minute."""
    Path(path).write_text(str(os.getpid()))
    time.sleep(60)
