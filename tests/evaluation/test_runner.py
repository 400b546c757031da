import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import work_units
from cfmark.distributed import Workers, programs_start
from cfmark.errors import ConfigError, TableError
from cfmark.evaluation import plan, read_document, rows_of, run_experiment
from cfmark.evaluation.grid import Experiment, Skip
from cfmark.evaluation.rows import SCHEMA, path_of, write_rows
from cfmark.evaluation.runner import Outcome
from cfmark.evaluation.settings import Settings

HELPERS = str(Path(work_units.__file__).parent)
MADE = Experiment("made", ("cancer", "synthetic"), ("dice",), draws=4, settings=Settings(seeds=2))


def run(
    folder: Path, experiment: Experiment = MADE, unit: Any = work_units.fake_unit, **options: Any
) -> Outcome:
    planned = plan(experiment, folder, options.pop("only", ""), options.pop("resume", False))
    return run_experiment(experiment, folder, planned, unit, **options)


def same_rows(a: Path, b: Path) -> None:
    pd.testing.assert_frame_equal(rows_of(a), rows_of(b))


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A run of everything, one unit after the other."""
    run(tmp_path / "whole")
    return tmp_path / "whole"


def test_every_unit_is_a_file_of_one_schema(whole: Path) -> None:
    names = sorted(path.name for path in (whole / "units").iterdir())
    assert names == sorted(
        f"{dataset}__dice__bilevel__draw{draw}.parquet" for dataset in MADE.dataset for draw in range(4)
    )
    rows = rows_of(whole)
    assert list(rows.columns) == SCHEMA.names
    assert len(rows) == 16
    assert rows["draw"].tolist() == [draw for _ in MADE.dataset for draw in range(4) for _ in range(2)]
    assert rows["p_value"].isna().all()


def test_the_document_says_what_was_run(whole: Path) -> None:
    document = read_document(whole)
    assert document["experiment"]["dataset"] == ["cancer", "synthetic"]
    assert document["experiment"]["settings"]["seeds"] == 2
    (started,) = document["runs"]
    assert started["machine"]["cores"] == os.cpu_count()
    assert set(started) == {"command", "commit", "seeds", "machine"}


def test_processes_give_the_same_rows(whole: Path, tmp_path: Path) -> None:
    outcome = run(tmp_path / "two", workers=Workers("processes", 2))
    assert outcome == Outcome(8, {}, {})
    same_rows(tmp_path / "two", whole)


def test_a_part_can_be_run_and_the_rest_later(whole: Path, tmp_path: Path) -> None:
    folder, told = tmp_path / "parts", []
    assert run(folder, only="dataset=cancer,draw=1|2", progress=told.append).made == 2
    assert run(folder, resume=True, only="draw=1").made == 1
    assert run(folder, resume=True, progress=told.append).made == 5
    assert told == [1] * 7
    assert len(read_document(folder)["runs"]) == 3
    same_rows(folder, whole)


def test_more_repeats_go_on_in_the_same_folder(whole: Path) -> None:
    assert run(whole, replace(MADE, draws=5), resume=True).made == 2


def test_a_folder_that_is_not_empty_is_refused(whole: Path) -> None:
    with pytest.raises(ConfigError, match=r"whole is not empty: add --resume to go on there"):
        run(whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": Settings(seeds=2, fit=20)}, "was made with fit = 100, this run has 20: name another"),
        (
            {"settings": Settings(seeds=2, strengths=(0.5,), removal="prune")},
            "removal = , this run has prune",
        ),
        ({"name": "other"}, "is of the experiment 'made', not 'other'"),
    ],
)
def test_a_folder_of_something_else_is_refused(change: dict[str, Any], message: str, whole: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        run(whole, replace(MADE, **change), resume=True)


def test_a_damaged_file_is_named(whole: Path) -> None:
    damaged = path_of(whole / "units", plan(MADE, whole, resume=True).done[0])
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(TableError, match=rf"{damaged.name}: no rows of an experiment; delete it"):
        run(whole, resume=True)


def test_a_column_that_nobody_knows_is_a_mistake(tmp_path: Path) -> None:
    unit = plan(MADE, tmp_path).todo[0]
    with pytest.raises(ValueError, match="cancer/dice/bilevel/draw0: a row has the column 'colour'"):
        write_rows(tmp_path, unit, [{"record": "verdict", "colour": "red"}])


def test_no_rows_yet(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no experiment was run here"):
        rows_of(tmp_path)
    run(tmp_path / "none", only="draw=1", unit=work_units.refused_unit)
    with pytest.raises(TableError, match="no rows here yet"):
        rows_of(tmp_path / "none")


def test_what_is_left_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFMARK_DATA", str(tmp_path / "nothing"))
    late = Skip({"dataset": "cancer", "draw": "0"}, "it is late")
    partly = Experiment("made", ("cancer", "heloc"), ("dice",), draws=2, skip=(late,))
    outcome = run(tmp_path / "out", partly)
    assert outcome.made == 1
    assert outcome.skipped["cancer/dice/bilevel/draw0"] == "it is late"
    assert outcome.skipped["heloc/dice/bilevel/draw1"].startswith("the files of heloc are not here")
    assert len(outcome.skipped) == 3
    assert read_document(tmp_path / "out")["skipped"] == outcome.skipped


@pytest.mark.parametrize("workers", [None, Workers("processes", 2)])
def test_a_refused_unit_does_not_stop_the_others(
    workers: Workers | None, whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "refused"
    outcome = run(folder, unit=work_units.refused_unit, workers=workers)
    refused = {f"{dataset}/dice/bilevel/draw1": "not the right bytes" for dataset in MADE.dataset}
    assert outcome == Outcome(6, {}, refused)
    assert read_document(folder)["failed"] == refused
    assert run(folder, resume=True, only="draw=0").failed == {}
    assert read_document(folder)["failed"] == refused
    assert run(folder, resume=True) == Outcome(2, {}, {})
    assert read_document(folder)["failed"] == {}
    same_rows(folder, whole)


@pytest.mark.parametrize("workers", [None, Workers("processes", 2)])
def test_a_mistake_says_in_which_unit(workers: Workers | None, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError, match="a mistake") as raised:
        run(tmp_path, unit=work_units.broken_unit, workers=workers)
    (note,) = raised.value.__notes__
    assert note in ("in the unit cancer/dice/bilevel/draw1", "in the unit synthetic/dice/bilevel/draw1")


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_a_killed_run_goes_on_where_it_stopped(engine: str, whole: Path, tmp_path: Path) -> None:
    folder, log = tmp_path / "killed", tmp_path / "log"
    log.mkdir()
    code = (
        "import work_units\n"
        "from dataclasses import replace\n"
        "from pathlib import Path\n"
        "from cfmark.distributed import Workers\n"
        "from cfmark.evaluation import plan, run_experiment\n"
        "from cfmark.evaluation.grid import Experiment\n"
        "from cfmark.evaluation.settings import Settings\n"
        "if __name__ == '__main__':\n"
        "    made = Experiment('made', ('cancer', 'synthetic'), ('dice',), draws=4)\n"
        "    made = replace(made, settings=Settings(seeds=2))\n"
        f"    folder = Path({str(folder)!r})\n"
        f"    who = Workers({engine!r}, 2)\n"
        "    run_experiment(made, folder, plan(made, folder), work_units.fake_unit, workers=who)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": HELPERS, "WORK_SECONDS": "0.5", "WORK_LOG": str(log)}
    process = subprocess.Popen([sys.executable, str(script)], env=environment, start_new_session=True)
    wait_for(lambda: len(list((folder / "units").glob("*.parquet"))) >= 2, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = {path: path.stat().st_mtime_ns for path in (folder / "units").glob("*.parquet")}
    assert 2 <= len(finished) < 8
    outcome = run(folder, resume=True)
    assert outcome.made == 8 - len(finished)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    same_rows(folder, whole)


def wait_for(ready: Any, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 60
    while not ready():
        assert process.poll() is None, "the run ended by itself"
        assert time.monotonic() < end
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A Ray cluster of two nodes with a core each."""
    from ray.cluster_utils import Cluster

    with programs_start():
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


@pytest.mark.ray
@pytest.mark.skipif(find_spec("ray") is None, reason="the extra 'ray' is not installed")
def test_a_killed_node_loses_nothing_and_doubles_nothing(two_nodes: Any, tmp_path: Path) -> None:
    many = replace(MADE, draws=10)
    run(tmp_path / "here", many)
    folder, log = tmp_path / "ray", tmp_path / "log"
    log.mkdir()
    told = ("PYTHONPATH", HELPERS), ("WORK_LOG", str(log)), ("WORK_SECONDS", "1")
    (node,) = two_nodes.worker_nodes
    raylet = node.all_processes["raylet"][0].process.pid
    killed: list[str] = []

    def kill_the_node(_: int) -> None:
        """Kill it and all that it started, when it has begun a unit that takes a second."""
        while not killed and (attempts := list(log.glob(f"*@{raylet}@*"))):
            last = max(attempts, key=lambda path: path.stat().st_mtime)
            if time.time() - last.stat().st_mtime < 0.3:
                killed.append(last.name.partition("@")[0])
                for pid in (
                    *children(raylet),
                    *(info[0].process.pid for info in node.all_processes.values()),
                ):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)

    outcome = run(folder, many, workers=Workers("ray", None, two_nodes.address, told), progress=kill_the_node)
    assert outcome == Outcome(20, {}, {})
    attempts = [path.name.partition("@")[0] for path in log.iterdir()]
    (twice,) = killed
    assert attempts.count(twice) == 2
    assert len(set(attempts)) == 20
    same_rows(folder, tmp_path / "here")
