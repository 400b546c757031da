"""Calibration of the tests on shadow suspects; what it returns is plain NumPy."""

from cfmark.calibration.calibrate import SCORES as SCORES
from cfmark.calibration.calibrate import Calibration as Calibration
from cfmark.calibration.calibrate import CalibrationConfig as CalibrationConfig
from cfmark.calibration.calibrate import calibrate as calibrate
from cfmark.calibration.calibrate import calibrated_tau as calibrated_tau
from cfmark.calibration.pools import FAMILIES_OF as FAMILIES_OF
from cfmark.calibration.pools import innocents as innocents
from cfmark.calibration.ratio import Reference as Reference
from cfmark.calibration.ratio import fit_reference as fit_reference
from cfmark.calibration.ratio import ratio as ratio
from cfmark.calibration.shadows import Answers as Answers
from cfmark.calibration.shadows import Learnt as Learnt
from cfmark.calibration.shadows import models_answers as models_answers
from cfmark.calibration.shadows import shadows as shadows

__all__ = [
    "FAMILIES_OF",
    "SCORES",
    "Answers",
    "Calibration",
    "CalibrationConfig",
    "Learnt",
    "Reference",
    "calibrate",
    "calibrated_tau",
    "fit_reference",
    "innocents",
    "models_answers",
    "ratio",
    "shadows",
]
