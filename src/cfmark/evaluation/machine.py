"""What a measurement was made with: the command, the commit, the seeds and the machine."""

import os
import platform
import resource
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("cfmark", "jax", "numpy", "scikit-learn", "pandas")
_SOURCE = Path(__file__).parents[1]


def provenance(command: str, **seeds: Any) -> dict[str, Any]:
    """Return the command, the commit, the seeds and the machine facts."""
    clean = _git("status", "--porcelain", "--", ".") in ("", "unknown")
    return {
        "command": command,
        "commit": _git("rev-parse", "HEAD") + ("" if clean else "-dirty"),
        "seeds": seeds,
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
            "python": platform.python_version(),
            "packages": {name: version(name) for name in PACKAGES},
        },
    }


def peak_megabytes() -> float:
    """Return this process's own peak of memory; getrusage's begins at that of the program that started it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _git(*arguments: str) -> str:
    """Ask git about the checkout that this file is in; an installed package is in none."""
    command = ["git", "-C", str(_SOURCE), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )
