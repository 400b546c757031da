import numpy as np

import trained
from cfmark.data import Encoder, Feature, Schema
from cfmark.explainers import changed, changes
from cfmark.explainers.words import shown

SCHEMA = Schema(
    (
        Feature("income", low=0, high=100, precision=0.05, unit="thousand dollars"),
        Feature("degree", "categorical", categories=(1, 2, 3)),
        Feature("children", "integer", low=0, high=9, precision=1),
        Feature("grade", "ordinal", categories=("low", "middle", "high")),
    ),
    target="label",
)
ENCODER = Encoder(SCHEMA)


def row(income: float, degree: int, children: int, grade: str) -> np.ndarray:
    import pandas as pd

    values = {"income": [income], "degree": [degree], "children": [children], "grade": [grade]}
    return ENCODER.encode(pd.DataFrame(values))[0]


def test_every_kind_of_change_in_its_own_units() -> None:
    lines = changes(ENCODER, row(40, 2, 3, "low"), row(41.5, 3, 1, "high"))
    assert lines == [
        "income: 40.00 -> 41.50 thousand dollars",
        "degree: 2 -> 3",
        "children: 3 -> 1",
        "grade: low -> high",
    ]


def test_only_what_changed_is_told() -> None:
    assert changes(ENCODER, row(40, 2, 3, "low"), row(40, 2, 4, "low")) == ["children: 3 -> 4"]
    assert changes(ENCODER, row(40, 2, 3, "low"), row(40, 2, 3, "low")) == []


def test_whole_categories_among_fractions_stay_whole() -> None:
    schema = Schema(SCHEMA.features[:2], target="label")
    encoder = Encoder(schema)
    x = np.array([0.4, 1, 0, 0], np.float32)
    assert changes(encoder, x, np.array([0.4, 0, 1, 0], np.float32)) == ["degree: 1 -> 2"]


def test_changed_features_are_counted() -> None:
    x = np.stack([row(40, 2, 3, "low")] * 3)
    cf = np.stack([row(40, 2, 3, "low"), row(40, 1, 3, "low"), row(1, 1, 1, "high")])
    assert changed(ENCODER, x, cf).tolist() == [0, 1, 4]


def test_shown() -> None:
    assert shown(SCHEMA["income"], 3.0) == "3.00"
    assert shown(SCHEMA["children"], 3) == "3"
    assert shown(SCHEMA["grade"], "low") == "low"


def test_cancer_is_told_in_its_own_decimals() -> None:
    data = trained.dataset("cancer")
    table = data.encoder.decode(data.query.x[:1])
    other = table.assign(**{"worst perimeter": 98.1})
    (line,) = changes(data.encoder, data.query.x[0], data.encoder.encode(other)[0])
    assert line.startswith("worst perimeter: ")
    assert " -> 98.1" in line
