import os
import signal
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import pytest

import work
from cfmark import distributed
from cfmark.distributed import Workers, run
from cfmark.errors import ConfigError, MissingExtra, WorkerLost

TWO = Workers("processes", 2)
#: Ray's workers are not started by this process: they are told where the tests' helpers are.
ON_RAY = Workers("ray", environment=(("PYTHONPATH", str(Path(work.__file__).parent)),))
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="the extra 'ray' is not installed")


def interrupt_when(paths: list[Path]) -> None:
    """Press Ctrl-C when the files have something in them."""
    while not all(path.is_file() and path.read_text() for path in paths):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("workers", [None, Workers(), TWO])
def test_every_item_is_done_once(workers: Workers | None) -> None:
    assert sorted(run(work.square, range(7), workers)) == [(i, i * i) for i in range(7)]
    assert list(run(work.square, [], workers)) == []


def test_results_come_in_the_order_in_which_they_are_finished(tmp_path: Path) -> None:
    a, b, c = (str(tmp_path / name) for name in "abc")
    done = [index for index, _ in run(work.leave_after, [(a, c), (b, str(tmp_path)), (c, b)], TWO)]
    assert done[0] == 1
    assert sorted(done) == [0, 1, 2]


def test_processes_have_an_environment_of_their_own() -> None:
    mine = Workers("processes", 1, environment=(("MINE", "yes"), ("OMP_NUM_THREADS", "7")))
    told = dict(run(work.whoami, ["MINE", "OMP_NUM_THREADS", "PJRT_NPROC"], mine))
    assert {pid for pid, _ in told.values()} - {os.getpid()} == {pid for pid, _ in told.values()}
    assert [told[i][1] for i in range(3)] == ["yes", "7", str(os.cpu_count())]
    assert "MINE" not in os.environ


def test_threads_never_outnumber_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert {distributed._limits(count)["PJRT_NPROC"] for count in (3, 4)} == {"2"}
    assert distributed._limits(100)["OMP_NUM_THREADS"] == "1"


def test_an_error_in_a_worker_is_the_callers() -> None:
    with pytest.raises(ValueError, match="three"):
        list(run(work.fail_at_three, range(100), TWO))


def test_a_killed_worker_is_named_by_its_work_and_what_was_finished_is_kept(tmp_path: Path) -> None:
    parts = [(role, str(tmp_path / "here")) for role in ("quick", "at work", "die", "quick")]
    kept: list[tuple[int, str]] = []
    with pytest.raises(WorkerLost, match=r"under way: at work, die; what was finished before is kept"):
        kept.extend(run(work.play, parts, TWO, lambda part: part[0]))
    assert kept == [(0, "quick")]


def test_a_caller_that_stops_ends_the_workers(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abc"]
    threading.Thread(target=interrupt_when, args=(paths[:2],)).start()
    with pytest.raises(KeyboardInterrupt):
        list(run(work.tell_and_wait, list(map(str, paths)), TWO))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    for path in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.read_text()), 0)


def test_workers_do_not_outlive_a_caller_that_is_killed(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "ab"]
    caller = get_context("spawn").Process(target=work.call, args=(list(map(str, paths)),))
    caller.start()
    until(lambda: all(path.is_file() and path.read_text() for path in paths))
    caller.kill()
    caller.join()
    until(lambda: not any(alive(int(path.read_text())) for path in paths))


def until(true: Callable[[], bool]) -> None:
    """Wait until something is true, for half of the minute that a worker would work."""
    for _ in range(300):
        if true():
            return
        time.sleep(0.1)
    pytest.fail("it has not come true")


def alive(process: int) -> bool:
    """Whether a process is there and is no zombie that waits for its parent."""
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_an_engine_that_is_none() -> None:
    with pytest.raises(ConfigError, match="no engine 'threads'; the engines are serial, processes, ray"):
        Workers("threads")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="workers = 0: at least 1"):
        Workers("processes", 0)


def test_ray_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'cfmark\[ray\]'"):
        list(run(work.square, [1], ON_RAY))


@pytest.mark.ray
@needs_ray
def test_ray_gives_the_same_results() -> None:
    assert sorted(run(work.square, range(7), ON_RAY)) == [(i, i * i) for i in range(7)]
