"""Put the tables of ``results/*.json`` into docs/results.md, between the marks that name them.

``python -m benchmarks.page``; a test fails when the page says something else than the results. A mark is
``<!-- results/NAME.json KIND N -->`` (the N-th table of a kind, from 0); its table ends at ``<!-- end -->``.
"""

import json
import re
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs/results.md"
MARK = re.compile(r"(<!-- (results/\w+\.json) (\w+) (\d+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Fill the page."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"written: {PAGE.name}")


def filled(page: str) -> str:
    """Return the page with every table as the results have it."""
    return MARK.sub(lambda mark: f"{mark[1]}\n{_table(mark[2], mark[3], int(mark[4]))}\n\n{mark[5]}", page)


def _table(path: str, kind: str, number: int) -> str:
    document = json.loads((PAGE.parent.parent / path).read_text(encoding="utf-8"))
    table: str = document["markdown"][kind][number]
    return table.partition("\n\n")[2]


if __name__ == "__main__":
    main()
