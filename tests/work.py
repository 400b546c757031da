"""Functions that worker processes find by name, for the tests of engines."""

import os
import signal
import time
from pathlib import Path


def square(number: int) -> int:
    return number * number


def slow_square(number: int) -> int:
    time.sleep(0.2)
    return number * number


def whoami(variable: str) -> tuple[int, str | None]:
    time.sleep(0.2)
    return os.getpid(), os.environ.get(variable)


def fail_at_three(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def die_at_three(number: int) -> int:
    """Kill the process at 3, when 0, 1 and 2 are done."""
    if number == 3:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    if number > 3:
        time.sleep(60)
    return number


def tell_and_wait(path: str) -> None:
    """Leave a process id in a file, and work for a minute."""
    Path(path).write_text(str(os.getpid()))
    time.sleep(60)
