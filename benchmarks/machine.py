"""Where a measurement goes, with what it was made on."""

import json
from pathlib import Path
from typing import Any

from cfmark.evaluation import provenance as provenance


def save(name: str, document: dict[str, Any]) -> None:
    """Write results/NAME.json."""
    path = Path("results") / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path}")
