"""The three forms, each as its formula says."""

import numpy as np
import pytest

from cfmark.watermark.bilevel.losses import Form, difference

MARKED = np.array([[0.2, 0.9, 0.5], [0.8, 0.1, 0.5]])
UNMARKED = np.array([[0.4, 0.6, 0.5], [0.6, 0.4, 0.5]])
TARGET = np.array([1, 0, 1])


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("log", [np.log(0.8 / 0.6), np.log(0.9 / 0.6), 0.0]),
        ("residual", [0.8 - 0.6, 0.9 - 0.6, 0.0]),
        (
            "kl",
            [
                0.2 * np.log(0.2 / 0.4) + 0.8 * np.log(0.8 / 0.6),
                0.9 * np.log(0.9 / 0.6) + 0.1 * np.log(0.1 / 0.4),
                0.0,
            ],
        ),
    ],
)
def test_each_form_is_its_formula(form: Form, expected: list[float]) -> None:
    found = difference(form, np.log(MARKED), np.log(UNMARKED), TARGET)
    np.testing.assert_allclose(found, expected, atol=1e-6)
