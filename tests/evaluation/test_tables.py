"""Tables from rows made by hand, so that every number can be checked by hand."""

import json
from typing import Any

import pytest

from cfmark.errors import ConfigError
from cfmark.evaluation import markdown, records_of, shown, tables_of
from cfmark.evaluation.paper import reported
from cfmark.evaluation.tables_detection import totals
from evaluation_rows import AXES, QUALITY, VERDICT, Row, frame, suspects

PAPER_TEST = {"test": "t", "pool": "", "score": "", "margin": "paper"}


def cell(**fields: Any) -> list[Row]:
    """Return 10 suspects of each attack, of which 9, 8 and 1 are flagged."""
    return [
        *suspects(9, 10, suspect="mrce", **fields),
        *suspects(8, 10, suspect="dual_cf", **fields),
        *suspects(1, 10, suspect="query", **fields),
    ]


def test_counts_of_a_cell() -> None:
    (record,) = records_of(frame([*cell(), QUALITY]))
    assert [record[name] for name in ("tp", "fn", "fp", "tn")] == [17, 3, 1, 9]
    assert record["f1"] == pytest.approx(34 / 38)
    assert record["flagged"] == {"mrce": [9, 10], "dual_cf": [8, 10], "query": [1, 10]}
    assert record["validity_change"] == pytest.approx(-0.02)
    assert record["l1_change"] == pytest.approx(0.05)
    assert record["paper_f1"] == 0.95
    named = [record[name] for name in ("dataset", "explainer", "scheme", "test", "pool", "score", "alpha")]
    assert named == ["cancer", "dice", "bilevel", "calibrated", "queries", "ratio", 0.05]


def test_innocents_are_counted_apart() -> None:
    others = [
        *suspects(4, 10, suspect="unmarked"),
        *suspects(2, 5, suspect="unmarked", family="forest"),
        *suspects(10, 10, suspect="query", family="forest"),
        *suspects(0, 10, suspect="true_labels", labels="true"),
    ]
    (record,) = records_of(frame([*cell(), *others]))
    assert (record["fp"], record["tn"]) == (1, 9)
    assert record["flagged"] == {
        "mrce": [9, 10],
        "dual_cf": [8, 10],
        "query": [1, 10],
        "unmarked": [4, 10],
        "unmarked/forest": [2, 5],
        "query/forest": [10, 10],
        "true_labels": [0, 10],
    }
    assert (record["validity_change"], record["l1_change"]) == (None, None)
    innocents = tables_of(frame([*cell(), *others]), ["detection"])[2]
    columns, (line,) = shown(innocents)
    assert dict(zip([column.head for column in columns], line, strict=True)) == {
        "data": "cancer",
        "method": "dice",
        "test": "ratio, queries",
        "query": "1 10 / 10",
        "unmarked": "4/10 2/5",
        "true_labels": "0 / 10",
    }
    assert innocents.title.endswith("as mlp, forest")


def test_a_removal_of_no_strength_is_the_thief_as_it_was() -> None:
    (record,) = records_of(frame([*cell(removal="prune"), *suspects(0, 10, removal="prune", strength=0.5)]))
    assert (record["tp"], record["fn"]) == (17, 3)


@pytest.mark.parametrize("labels", ["hard", "opposite"])
def test_what_thieves_learn_and_train_has_lines_of_its_own(labels: str) -> None:
    others = [*suspects(3, 10, labels=labels), *suspects(2, 10, labels=labels, suspect="query")]
    plain, other = records_of(frame([*cell(), *others]))
    assert (plain["labels"], other["labels"]) == ("soft", labels)
    assert [plain[name] for name in ("tp", "fn", "fp", "tn")] == [17, 3, 1, 9]
    assert [other[name] for name in ("tp", "fn", "fp", "tn")] == [3, 7, 2, 8]
    assert plain["flagged"].keys() == {"mrce", "dual_cf", "query", f"query/{labels}"}
    assert (plain["paper_f1"], other["paper_f1"]) == (0.95, None)


def test_every_test_has_a_line_and_removals_have_none() -> None:
    rows = [*cell(), *cell(**PAPER_TEST), *suspects(0, 10, removal="prune", strength=0.5)]
    ours, papers = records_of(frame(rows))
    assert (ours["named"], papers["named"]) == ("ratio, queries", "t, paper tau")
    assert ours["tp"] == papers["tp"] == 17


def test_totals_over_cells() -> None:
    other = {"dataset": "loan", "cell": "loan/dice/bilevel"}
    rows = [*cell(), *suspects(10, 10, **other), *suspects(0, 10, suspect="query", **other)]
    (record,) = totals(records_of(frame(rows)))
    assert [record[name] for name in ("cells", "tp", "fn", "fp", "tn")] == [2, 27, 3, 1, 19]
    assert record["mean_f1"] == pytest.approx((34 / 38 + 1) / 2)
    assert record["lowest_f1"] == pytest.approx(34 / 38)
    assert record["paper_f1"] == pytest.approx((0.95 + 0.93) / 2)


def test_no_thief_and_no_alarm_has_no_f1() -> None:
    (record,) = records_of(frame([*suspects(0, 3), *suspects(0, 2, suspect="query")]))
    assert record["f1"] == 0.0
    assert records_of(frame(suspects(1, 2, suspect="query"))) == []


def test_quality_is_on_the_marked_rows_and_the_papers_way_is_diluted() -> None:
    second = QUALITY | {"draw": 1, "l1_after": 2.3, "paired": 0.5, "validity_other": None, "l1_other": None}
    (record,) = records_of(frame([QUALITY, second]), "quality")
    assert (record["draws"], record["queries"], record["marked"], record["asked"]) == (2, 256, 160, 256)
    assert (record["l1_before"], record["l1_after"]) == pytest.approx((2.0, 2.2))
    assert record["l1_change"] == pytest.approx(0.1)
    assert record["validity_change"] == pytest.approx(-0.02)
    share = 143 / 569
    assert record["diluted_l1_after"] == pytest.approx(share * 2.2 + (1 - share) * 4.0)
    assert record["diluted_validity_before"] == pytest.approx(share + (1 - share) * 0.5)
    assert (record["paper_validity_before"], record["paper_l1_after"]) == (0.99, 4.34)


def test_losses_stand_beside_the_papers() -> None:
    rows: list[Row] = []
    for form in ("kl", "residual"):
        varied = {"variant": f"poison_form={form},validity_form=kl", "dataset": "credit", "cell": form}
        rows += [*cell(**varied), QUALITY | varied]
    first, second = records_of(frame(rows), "losses")
    assert (first["poison_form"], first["validity_form"]) == ("kl", "kl")
    assert first["f1"] == {"ratio, queries": pytest.approx(34 / 38)}
    assert (first["validity_lost"], first["l1_gained"]) == pytest.approx((2.0, 5.0))
    assert [second[f"paper_{name}"] for name in ("f1", "validity_lost", "l1_gained")] == [1.0, -0.31, 1.90]
    assert records_of(frame(cell()), "losses") == []


def test_removal_by_strength() -> None:
    rows = [*suspects(10, 10), *suspects(4, 10, removal="prune", strength=0.5, agreement=0.7)]
    rows += [*suspects(2, 10, **PAPER_TEST), *suspects(0, 5, suspect="query")]
    plain, pruned = records_of(frame(rows), "removal")
    assert (plain["strength"], pruned["strength"]) == (0.0, 0.5)
    assert plain["rate"] == {"ratio, queries": 1.0, "t, paper tau": 0.2}
    assert pruned["flagged"] == {"ratio, queries": [4, 10]}
    assert (plain["agreement"], pruned["agreement"]) == pytest.approx((0.9, 0.7))


def test_poison_by_variant_beside_the_papers_flags() -> None:
    varied = {"variant": "regularisation=0.0", "dataset": "credit"}
    rows = [VERDICT | varied | {"poison": 0.2, "seed": 0}, VERDICT | varied | {"poison": 0.4, "seed": 1}]
    rows += [row | PAPER_TEST | {"flagged": False} for row in rows]
    rows += suspects(1, 2, suspect="query", **varied)
    thief, asker = records_of(frame(rows), "poison")
    assert thief["poison"] == pytest.approx(0.3)
    assert thief["poison_deviation"] == pytest.approx(0.2 / 2**0.5)
    assert thief["flagged"] == {"ratio, queries": [2, 2], "t, paper tau": [0, 2]}
    assert (thief["paper_flagged"], asker["paper_flagged"]) == (50, 48)


def test_timing_counts_suspects_without_what_is_paid_once() -> None:
    phases = {"mark": (2.0, 100), "calibrate": (30.0, 500), "suspects": (3.0, 40), "test": (1.0, 40)}
    rows = [
        AXES | {"record": "timing", "phase": phase, "seconds": seconds, "models": models, "draw": draw}
        for draw in (0, 1)
        for phase, (seconds, models) in phases.items()
    ]
    (record,) = records_of(frame(rows), "timing")
    assert record["phases"] == {"mark": 4.0, "calibrate": 60.0, "suspects": 6.0, "test": 2.0}
    assert (record["units"], record["suspects"], record["seconds"]) == (2, 80, 72.0)
    assert record["suspects_per_second"] == 10.0
    columns, lines = shown(tables_of(frame(rows), ["timing"])[0])
    assert [column.head for column in columns][:3] == ["data", "method", "draws"]
    assert [line[0] for line in lines] == ["cancer", "all"]


def test_every_table_is_markdown_and_json() -> None:
    rows = frame([*cell(), QUALITY])
    for kind in ("detection", "quality", "removal", "poison"):
        json.loads(json.dumps(records_of(rows, kind), allow_nan=False))
        for table in tables_of(rows, [kind]):
            title, _, head, rule, *lines = markdown(table).splitlines()
            assert title == f"**{table.title}**"
            assert len({line.count("|") for line in (head, rule, *lines)}) == 1
            assert len(lines) == len(table.records)


def test_a_table_that_is_none() -> None:
    with pytest.raises(ConfigError, match="no table 'pie'; the tables are detection, quality"):
        tables_of(frame(cell()), ["pie"])


def test_the_papers_numbers_agree_with_its_own_text() -> None:
    """Section 5 gives averages that the table's cells must have."""
    cells = {method: list(reported("f1", method).values()) for method in ("cchvae", "dice", "growing_sphere")}
    means = {method: round(sum(values) / 4, 2) for method, values in cells.items()}
    assert means == {"cchvae": 0.80, "dice": 0.95, "growing_sphere": 0.91}
    assert reported("f1", "dice", "iris") is None
    gained = [
        after / before - 1
        for method in cells
        for before, after in (values["l1"] for values in reported("quality", method).values())
    ]
    assert sum(map(abs, gained)) / 12 == pytest.approx(0.016, abs=0.001)
