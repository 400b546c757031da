"""Tables in the documents are those that the benchmarks print from the committed results."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks import embedding, memory, quality, speed, thieves
from benchmarks.page import MARK, PAGE, filled

ROOT = Path(__file__).parent.parent
TABLES: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "quality": lambda found: [quality.table(found["cells"], schema) for schema in quality.SCHEMAS],
    "speed": lambda found: [speed.markdown(found["own"]), speed.markdown(found["side_by_side"])],
    "memory": lambda found: [memory.table(found["runs"])],
    "thieves": lambda found: [thieves.table(found["families"])],
    "embedding": lambda found: [embedding.markdown(found[name]) for name in embedding.SHOWN],
}


@pytest.mark.parametrize("name", TABLES)
def test_performance_shows_the_committed_results(name: str) -> None:
    page = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    found = json.loads((ROOT / f"results/{name}.json").read_text(encoding="utf-8"))
    for table in TABLES[name](found):
        assert table.strip() in page
    assert found["command"] in page
    assert found["commit"][:7] in page


def test_the_results_page_shows_the_committed_results() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(MARK.findall(text)) >= 15
    assert filled(text) == text


def test_the_readme_shows_the_papers_cells() -> None:
    cells = json.loads((ROOT / "results/quality.json").read_text(encoding="utf-8"))["cells"]
    assert quality.table(cells, "paper") in (ROOT / "README.md").read_text(encoding="utf-8")


def test_links_lead_somewhere() -> None:
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
