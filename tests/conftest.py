"""What every test runs under; set before cfmark is imported, and inherited by xdist's workers."""

import os
import shutil
import tempfile

import hypothesis
import jax

_CACHE = None if "CFMARK_CACHE" in os.environ else tempfile.mkdtemp(prefix="cfmark-tests-")
if _CACHE is not None:
    os.environ["CFMARK_CACHE"] = _CACHE

jax.config.update("jax_numpy_rank_promotion", "raise")
hypothesis.settings.register_profile("house", deadline=None, derandomize=True)
hypothesis.settings.load_profile("house")


def pytest_unconfigure() -> None:
    if _CACHE is not None:
        shutil.rmtree(_CACHE, ignore_errors=True)
