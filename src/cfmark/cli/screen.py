"""What a person sees: tables, and progress as a bar on a terminal or as plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Seconds between two plain lines of progress.
_PAUSE = 5.0


def table(*heads: str) -> "Table":
    """Make a table; a head that starts with ">" is of a column of numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD)
    for head in heads:
        made.add_column(head.removeprefix(">"), justify="right" if head.startswith(">") else "left")
    return made


def console() -> "Console":
    """Return the console for results; where there is no terminal its lines are 120 wide."""
    from rich.console import Console

    screen = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    if screen.is_terminal:
        return screen
    return Console(highlight=False, markup=False, emoji=False, width=120)


@contextmanager
def progress(label: str, total: int | None, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many more rows are done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield _plain(label, total, done)
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=screen, transient=True) as bars:
        task = bars.add_task(label, total=total, completed=done)
        yield lambda rows: bars.advance(task, rows)


def _plain(label: str, total: int | None, done: int) -> Callable[[int], None]:
    import typer

    start = last = time.monotonic()
    count = done

    def tell(rows: int) -> None:
        nonlocal count, last
        count += rows
        now = time.monotonic()
        if now - last < _PAUSE:
            return
        last = now
        left = (
            f" of {total:,}, {(now - start) * (total - count) / (count - done):.0f} s left" if total else ""
        )
        typer.echo(f"{label}: {count:,}{left}", err=True)

    return tell
