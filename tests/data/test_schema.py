import pytest

from cfmark.data import Feature, Schema
from cfmark.data.schema import MAX_STEPS, spelling
from cfmark.errors import SchemaError


@pytest.mark.parametrize(
    ("feature", "steps", "decimals", "lowest", "highest"),
    [
        (Feature("f"), 1000, 3, 0, 1),
        (Feature("f", "integer", 0, 10, 1, special=(-9.0,)), 19, 0, -9, 10),
        (Feature("f", "integer", 0, 10, 1, special=(99.0,)), 99, 0, 0, 99),
        (Feature("f", "integer", 10_000, 1_000_000, 10_000), 99, 0, 10_000, 1_000_000),
        (Feature("f", low=0.125, high=1.125, precision=0.25), 4, 3, 0.125, 1.125),
        (Feature("f", low=0.5, high=3.5, precision=1), 3, 1, 0.5, 3.5),
        (Feature("f", low=0, high=3e-7, precision=1e-9), 300, 9, 0, 3e-7),
    ],
)
def test_the_grid_of_numbers(
    feature: Feature, steps: int, decimals: int, lowest: float, highest: float
) -> None:
    assert (feature.steps, feature.decimals) == (steps, decimals)
    assert (feature.lowest, feature.highest) == (lowest, highest)
    assert feature.width == 1


def test_categories_take_a_column_each_and_ordinals_one() -> None:
    assert Feature("f", "categorical", categories=("a", "b", "c")).width == 3
    ordinal = Feature("f", "ordinal", categories=("a", "b", "c"), direction="up")
    assert (ordinal.width, ordinal.steps) == (1, 2)


BAD_FEATURES = {
    "kind": ({"kind": "number"}, "kind 'number' is not one of continuous, integer"),
    "direction": ({"direction": "left"}, "direction 'left' is not one of any, up, down"),
    "empty range": ({"low": 1, "high": 1}, "low 1 is not below high 1"),
    "nan": ({"low": float("nan")}, "must be finite"),
    "infinite": ({"high": float("inf")}, "must be finite"),
    "infinite code": ({"special": (float("-inf"),)}, "must be finite"),
    "large": ({"high": 1e9, "precision": 1e6}, "must be below 1e\\+09"),
    "large code": ({"special": (-1e9,)}, "must be below 1e\\+09"),
    "zero precision": ({"precision": 0}, "must be above 0"),
    "negative precision": ({"precision": -1}, "must be above 0"),
    "fine precision": ({"precision": 1e-10, "high": 1e-8}, "at most 9 decimals"),
    "long bound": ({"low": 0.12345678901, "precision": 0.1}, "at most 9 decimals"),
    "many steps": ({"high": 3, "precision": 1e-6}, f"3,000,000 values, at most {MAX_STEPS:,}"),
    "many steps below": (
        {"high": 1, "precision": 1e-6, "special": (-5.0,)},
        "-5..1 in steps of 1e-06 are 6,000,000",
    ),
    "far from zero": ({"low": 9e8, "high": 9e8 + 1, "precision": 1e-6}, "cannot be told apart in steps"),
    "off grid": ({"high": 1, "precision": 0.3}, "1 is not a whole number of steps of 0.3"),
    "code off grid": ({"precision": 1, "special": (-0.5,)}, "is not a whole number of steps"),
    "code inside": ({"special": (0.5,)}, "special code 0.5 lies inside 0..1"),
    "half integer": ({"kind": "integer", "low": 0.5, "high": 2.5, "precision": 1}, "whole numbers"),
    "integer in tenths": ({"kind": "integer", "precision": 0.1}, "whole numbers"),
    "categories of a number": ({"categories": (1, 2)}, "belong to ordinal and categorical"),
    "one category": ({"kind": "categorical", "categories": ("a",)}, "at least two"),
    "same category": ({"kind": "categorical", "categories": (1, "1.0")}, "named twice"),
    "true and false": ({"kind": "ordinal", "categories": (False, True)}, "as text"),
    "code of a category": (
        {"kind": "ordinal", "categories": (1, 2), "special": (-9.0,)},
        "make the code a category",
    ),
    "categories that rise": (
        {"kind": "categorical", "categories": (1, 2), "direction": "up"},
        "use kind 'ordinal'",
    ),
}


@pytest.mark.parametrize(("attributes", "message"), BAD_FEATURES.values(), ids=BAD_FEATURES.keys())
def test_a_feature_that_contradicts_itself(attributes: dict[str, object], message: str) -> None:
    with pytest.raises(SchemaError, match=f"^age: .*{message}"):
        Feature("age", **attributes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("features", "options", "message"),
    [
        ((), {}, "no features"),
        ((Feature("a"), Feature("a")), {}, "a: the feature is named twice"),
        ((Feature("y"),), {}, "y: the target cannot be a feature too"),
        ((Feature("a"),), {"labels": (1, "1.0")}, "y: labels must be two different values"),
    ],
)
def test_a_schema_that_contradicts_itself(
    features: tuple[Feature, ...], options: dict[str, tuple[int, str]], message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema(features, target="y", **options)


def test_features_by_name_and_changes() -> None:
    schema = Schema((Feature("a"), Feature("b")), target="y")
    changed = schema.with_changes({"b": {"immutable": True}})
    assert not schema["b"].immutable
    assert changed["b"].immutable
    assert not changed["a"].immutable
    assert hash(schema) != hash(changed)
    with pytest.raises(SchemaError, match="there is no feature 'c'; the schema has a, b"):
        schema.with_changes({"c": {"immutable": True}})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *[(1, "1"), (1.0, "1"), (" 1.0 ", "1"), ("-0", "0"), ("0.50", "0.5"), (0.5, "0.5"), ("1e3", "1000")],
        *[("inf", "inf"), ("nan", "nan"), ("A1", "A1"), (True, "True"), ("", "")],
    ],
)
def test_spelling(value: object, expected: str) -> None:
    assert spelling(value) == expected
