"""Tests of ownership, from a suspect's answers to a verdict. NumPy and SciPy only: an arbiter has no JAX."""

from cfmark.verification.coin import coin_test as coin_test
from cfmark.verification.coin import sign_flips as sign_flips
from cfmark.verification.counts import Confusion as Confusion
from cfmark.verification.counts import confusion as confusion
from cfmark.verification.hypothesis import calibrated_test as calibrated_test
from cfmark.verification.hypothesis import rank_p_value as rank_p_value
from cfmark.verification.hypothesis import samples_needed as samples_needed
from cfmark.verification.hypothesis import t_test as t_test
from cfmark.verification.hypothesis import theorem_condition as theorem_condition
from cfmark.verification.power import Effect as Effect
from cfmark.verification.power import effect_of as effect_of
from cfmark.verification.power import pairs_needed as pairs_needed
from cfmark.verification.power import power_at as power_at
from cfmark.verification.scores import PairedPoints as PairedPoints
from cfmark.verification.scores import Scores as Scores
from cfmark.verification.scores import paired_points as paired_points
from cfmark.verification.scores import sample_pairs as sample_pairs
from cfmark.verification.scores import score as score
from cfmark.verification.sequential import EProcess as EProcess
from cfmark.verification.sequential import e_process as e_process
from cfmark.verification.twins import Tossed as Tossed
from cfmark.verification.twins import tossed as tossed
from cfmark.verification.verdict import Interval as Interval
from cfmark.verification.verdict import Verdict as Verdict
from cfmark.verification.verify import Calibrated as Calibrated
from cfmark.verification.verify import decide as decide
from cfmark.verification.verify import verify as verify
from cfmark.verification.weights import Weights as Weights
from cfmark.verification.weights import fit_weights as fit_weights
from cfmark.verification.weights import log_ratios as log_ratios

__all__ = [
    "Calibrated",
    "Confusion",
    "EProcess",
    "Effect",
    "Interval",
    "PairedPoints",
    "Scores",
    "Tossed",
    "Verdict",
    "Weights",
    "calibrated_test",
    "coin_test",
    "confusion",
    "decide",
    "e_process",
    "effect_of",
    "fit_weights",
    "log_ratios",
    "paired_points",
    "pairs_needed",
    "power_at",
    "rank_p_value",
    "sample_pairs",
    "samples_needed",
    "score",
    "sign_flips",
    "t_test",
    "theorem_condition",
    "tossed",
    "verify",
]
