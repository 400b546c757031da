"""One function over many items, here, in local processes, or on a Ray cluster: the same results from each.

Results come as they are finished, so the caller can put each on disk before the next. A caller that stops
(Ctrl-C, an error) ends the workers; a process that is killed is an error that says what it was working on.
On Ray a killed node's items are done again elsewhere.
"""

import logging
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any, Literal, TypeVar, get_args

from cfmark._optional import optional
from cfmark.errors import ConfigError, WorkerLost

Item = TypeVar("Item")
Result = TypeVar("Result")
Engine = Literal["serial", "processes", "ray"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
#: What tells XLA and the BLAS libraries how many threads they may start.
THREADS = ("PJRT_NPROC", "NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: How often Ray does an item again whose worker or node was lost.
RETRIES = 3


@dataclass(frozen=True)
class Workers:
    """Who does the work.

    Attributes
    ----------
    engine
        ``serial`` (in this process), ``processes`` or ``ray``.
    count
        Local processes (one for each core by default); Ray uses the cores that its cluster has.
    address
        Ray's head node; without it RAY_ADDRESS, or else a cluster of this machine alone.
    environment
        Variables of the workers' environment, as pairs.
    """

    engine: Engine = "serial"
    count: int | None = None
    address: str | None = None
    environment: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ConfigError(f"there is no engine {self.engine!r}; the engines are {', '.join(ENGINES)}")
        if self.count is not None and self.count < 1:
            raise ConfigError(f"workers = {self.count}: at least 1 is needed")


def run(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: Workers | None = None,
    name: Callable[[Item], str] = str,
) -> Iterator[tuple[int, Result]]:
    """Yield (index, result) of every item, in the order in which they are finished.

    Parameters
    ----------
    function
        What is done to each; processes find it by its module and name.
    items
        The work.
    workers
        Who does it; by default this process.
    name
        What an item is called in an error.

    >>> dict(run(abs, [3, -4]))
    {0: 3, 1: 4}
    """
    workers = workers or Workers()
    if workers.engine == "processes":
        return _in_processes(function, items, workers, name)
    if workers.engine == "ray":
        return _on_ray(function, items, workers, name)
    return ((index, function(item)) for index, item in enumerate(items))


def _in_processes(
    function: Callable[[Item], Result], items: Sequence[Item], workers: Workers, name: Callable[[Item], str]
) -> Iterator[tuple[int, Result]]:
    """Keep as many items under way as there are processes, so that what is under way is known."""
    count = workers.count or os.cpu_count() or 1
    environment = _limits(count) | dict(workers.environment)
    left = iter(enumerate(items))
    flying: dict[Future[Result], int] = {}
    with _pool(count, environment) as pool:

        def send() -> None:
            for index, item in left:
                flying[pool.submit(function, item)] = index
                return

        for _ in range(count):
            send()
        while flying:
            done = wait(flying, return_when=FIRST_COMPLETED).done
            lost = [future for future in done if isinstance(future.exception(), BrokenProcessPool)]
            for future in sorted(done.difference(lost), key=flying.__getitem__):
                yield flying.pop(future), future.result()
                if not lost:
                    send()
            if lost:
                at_work = ", ".join(name(items[index]) for index in sorted(flying.values()))
                raise WorkerLost(
                    f"a worker process was killed, perhaps for want of memory, while these were under way: "
                    f"{at_work}; what was finished before is kept"
                )


@contextmanager
def _pool(count: int, environment: dict[str, str]) -> Iterator[ProcessPoolExecutor]:
    """Yield fresh processes that end with the block, whatever they are doing."""
    before = active_children()
    pool = ProcessPoolExecutor(count, get_context("spawn"), _begin, (environment,))
    try:
        yield pool
    finally:
        for child in active_children():
            if child not in before:
                child.terminate()
        pool.shutdown(cancel_futures=True)


def _begin(environment: dict[str, str]) -> None:
    """Set a process up, before the first item brings its libraries; Ctrl-C is the caller's business."""
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    """End this process as soon as its caller has ended, however that came: nobody waits for its result."""
    caller = parent_process()
    if caller is not None:
        caller.join()
        os._exit(1)


def _limits(count: int) -> dict[str, str]:
    """Share the cores out: more threads than cores only wait for each other."""
    threads = str(max(1, (os.cpu_count() or 1) // count))
    return dict.fromkeys(THREADS, threads)


def _on_ray(
    function: Callable[[Item], Result], items: Sequence[Item], workers: Workers, name: Callable[[Item], str]
) -> Iterator[tuple[int, Result]]:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    logging.getLogger("ray").setLevel(logging.ERROR)
    with optional("ray"):
        import ray
    address = workers.address or os.environ.get("RAY_ADDRESS") or "local"
    environment = dict.fromkeys(THREADS, "1") | dict(workers.environment)
    options: dict[str, Any] = {"include_dashboard": False} if address == "local" else {}
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    with programs_start():
        ray.init(address, runtime_env={"env_vars": environment}, **quiet, **options)
    lost = ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.ObjectLostError
    try:
        task: Any = ray.remote(num_cpus=1, max_retries=RETRIES)(_apply)
        flying = {task.remote(function, item): index for index, item in enumerate(items)}
        while flying:
            (done,), _ = ray.wait(list(flying), num_returns=1)
            index = flying.pop(done)
            try:
                result = ray.get(done)
            except lost as problem:
                raise WorkerLost(
                    f"{name(items[index])}: given up after {RETRIES + 1} workers or nodes were lost with it; "
                    "what was finished before is kept"
                ) from problem
            yield index, result
    finally:
        ray.shutdown()


@contextmanager
def programs_start() -> Iterator[None]:
    """Keep quiet about forks: a fork becomes Ray's program at once, so JAX's threads do not matter."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*fork\(\)")
        yield


def _apply(function: Callable[[Item], Result], item: Item) -> Result:
    """Do one item; Ray wants a plain function where ``function`` may be anything that can be called."""
    return function(item)
