"""An arbiter's machine: the whole room imports and runs where JAX and pandas are not installed."""

import subprocess
import sys

PROGRAM = """
import sys

for name in ("jax", "jaxlib", "optax", "pandas", "pyarrow", "sklearn"):
    sys.modules[name] = None

import pkgutil

import numpy as np

import cfmark.verification as room
from cfmark.types import MarkedExplanations

for module in pkgutil.iter_modules(room.__path__, room.__name__ + "."):
    __import__(module.name)


class Suspect:
    def predict_proba(self, x):
        return np.stack([1 - x[:, 0], x[:, 0]], axis=1)


rng = np.random.default_rng(7)
cf = rng.uniform(0.2, 0.4, (30, 1, 2)).astype(np.float32)
there = np.ones((30, 1), bool)
marked = cf + rng.uniform(0.1, 0.2, cf.shape).astype(np.float32)
pairs = MarkedExplanations(cf[:, 0], marked, cf, there, there, np.ones(30, int))
scores = room.score(Suspect(), pairs, size=20, rng=rng)
verdicts = [
    room.t_test(scores, 0.05),
    room.calibrated_test(scores, {"queries only": np.zeros(19)}),
]
assert all(room.Verdict.from_json(v.to_json()) == v and v.in_words() for v in verdicts)
assert room.theorem_condition(scores, 0.05)
assert room.pairs_needed(*room.effect_of(scores, 0.05)) >= 2
print(room.confusion([v.flagged for v in verdicts], [True, True]))
"""


def test_the_room_runs_without_jax_and_pandas() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    assert ran.stdout == "Confusion(tp=2, fn=0, fp=0, tn=0)\n"
