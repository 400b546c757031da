"""Presets: the paper's table as it is printed, and ours for any data set."""

import pytest

from cfmark.errors import ConfigError
from cfmark.explainers import METHODS
from cfmark.watermark import preset


def test_the_papers_cells() -> None:
    for method in METHODS:
        for data in ("cancer", "credit", "heloc", "loan"):
            chosen = preset("paper", method, data)
            assert (chosen.config.steps, chosen.config.delta, chosen.config.proximity) == (50, 0.05, None)
            assert chosen.config.sign_step == pytest.approx(2.5 * 0.05 / 50)
            assert chosen.n_cfs == (5 if (method, data) in (("dice", "credit"), ("dice", "heloc")) else 1)
    config, tau, _ = preset("paper", "growing_sphere", "heloc")
    stated = config.batch_size, config.unroll, config.learning_rate, tau, config.ensemble
    assert stated == (128, 5, 0.1, 0.05, 16)
    assert preset("paper", "dice", "cancer").tau == 0.1


def test_what_there_is_not() -> None:
    with pytest.raises(
        ConfigError, match=r"no hyper-parameters for dice on synthetic; it has cchvae on cancer"
    ):
        preset("paper", "dice", "synthetic")
    with pytest.raises(ConfigError, match="no preset 'ours'; the presets are default and paper"):
        preset("ours", "dice", "cancer")


def test_ours_is_for_any_table() -> None:
    chosen = preset("default", "dice", "my_table")
    assert chosen.config.proximity is not None
    assert (chosen.tau, chosen.n_cfs) == (0.05, 1)
    assert preset("default", "dice", "cancer").tau == 0.1
