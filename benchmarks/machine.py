"""What a measurement was made on, and where it goes."""

import json
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("cfmark", "jax", "numpy", "scikit-learn", "pandas")


def provenance(command: str, **seeds: Any) -> dict[str, Any]:
    """Return the command, the commit, the seeds and the machine facts."""
    return {
        "command": command,
        "commit": _git("rev-parse", "HEAD")
        + ("-dirty" if _git("status", "--porcelain", "--", "src") else ""),
        "seeds": seeds,
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
            "packages": {name: version(name) for name in PACKAGES},
        },
    }


def save(name: str, document: dict[str, Any]) -> None:
    """Write results/NAME.json."""
    path = Path("results") / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path}")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "" if done.returncode == 0 else "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )
