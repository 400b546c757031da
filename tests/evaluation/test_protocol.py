from cfmark.evaluation import run_unit
from cfmark.evaluation.settings import Settings, Unit

FEW = Settings(queries=16, seeds=2, innocents=("unmarked",), fit=10, rank=19, pools=("queries", "all"))


def test_where_no_mark_is_left_nobody_is_flagged_and_nothing_fails() -> None:
    """A bound below the grid's steps leaves no pair, as a guard does that has to undo every mark."""
    nothing = (("delta", 1e-9), ("steps", 2))
    rows = run_unit(Unit("made", "cancer", "growing_sphere", "bilevel", nothing, 0, FEW))
    verdicts = [row for row in rows if row["record"] == "verdict"]
    (quality,) = (row for row in rows if row["record"] == "quality")
    assert quality["paired"] == 0
    assert {(row["suspect"], row["seed"]) for row in verdicts} == {
        (suspect, seed) for suspect in ("query", "mrce", "dual_cf", "unmarked") for seed in (0, 1)
    }
    tests = {(row["test"], row["pool"], row["score"], row["margin"]) for row in verdicts}
    assert len(tests) == 1 + 2 * 3
    assert len(verdicts) == 8 * len(tests)
    assert {(row["flagged"], row["p_value"], row["n"]) for row in verdicts} == {(False, 1.0, 0)}
    assert all(0 <= row["agreement"] <= 1 for row in verdicts)
