from pathlib import Path

import pytest

from cfmark.data import BUILT_IN, read_schema, sources
from cfmark.data.schema_file import parse_schema
from cfmark.errors import SchemaError

TEXT = """
target = "approved"
labels = ["no", "yes"]
drop = ["id"]

[features."income per year"]
kind = "integer"
low = 0
high = 90_000
special = [-9]
unit = "dollars"

[features.grade]
kind = "ordinal"
categories = ["low", "high"]

[variants.actionable.grade]
direction = "up"
"""


def test_a_file_becomes_a_schema() -> None:
    schema = parse_schema(TEXT)
    assert (schema.target, schema.labels, schema.drop) == ("approved", ("no", "yes"), ("id",))
    income, grade = schema.features
    assert (income.name, income.precision, income.special, income.unit) == (
        "income per year",
        1,
        (-9,),
        "dollars",
    )
    assert (grade.categories, grade.direction) == (("low", "high"), "any")


def test_a_variant_changes_the_features_it_names() -> None:
    schema = parse_schema(TEXT, "actionable")
    assert schema["grade"].direction == "up"
    assert schema["income per year"] == parse_schema(TEXT)["income per year"]
    with pytest.raises(SchemaError, match="no variant 'other'; the file has paper, actionable"):
        parse_schema(TEXT, "other")


BAD_FILES = {
    "not TOML": ("target = ", "not valid TOML"),
    "no target": ('[features.a]\nkind = "integer"', "needs a line 'target"),
    "target is a number": ("target = 3\n[features.a]\nhigh = 2", "needs a line 'target"),
    "no features": ('target = "y"', r"sections \[features.NAME\]"),
    "empty features": ('target = "y"\n[features]', "no features"),
    "feature is a number": ('target = "y"\n[features]\na = 1', "a: expected a section"),
    "unknown key": ('target = "y"\nlabel = [0, 1]\n[features.a]\nhigh = 2', "unknown key 'label'"),
    "unknown attribute": ('target = "y"\n[features.a]\nmax = 2', "a: unknown key 'max'; allowed are cat"),
    "text for a number": ('target = "y"\n[features.a]\nhigh = "2"', "a: high = '2' has the wrong type"),
    "boolean for a number": ('target = "y"\n[features.a]\nhigh = true', "a: high = True has the wrong type"),
    "number for a boolean": ('target = "y"\n[features.a]\nimmutable = 1', "immutable = 1 has the wrong type"),
    "text as a code": ('target = "y"\n[features.a]\nspecial = ["-9"]', "holds something that is no number"),
    "list of lists": (
        'target = "y"\n[features.a]\nkind = "ordinal"\ncategories = [[1], [2]]',
        "holds something that is no text or number",
    ),
    "three labels": ('target = "y"\nlabels = [0, 1, 2]\n[features.a]\nhigh = 2', "list of two values"),
    "odd label": ('target = "y"\nlabels = [0, [1]]\n[features.a]\nhigh = 2', "a label is a text or a number"),
    "drop is a text": ('target = "y"\ndrop = "id"\n[features.a]\nhigh = 2', "drop must be a list"),
    "drop holds a number": ('target = "y"\ndrop = [1]\n[features.a]\nhigh = 2', "drop must be a list"),
    "contradiction": ('target = "y"\n[features.a]\nlow = 2', "a: low 2 is not below high 1"),
    "variants are a list": ('target = "y"\nvariants = [1]\n[features.a]\nhigh = 2', "variants are sections"),
    "variant is a number": (
        'target = "y"\n[features.a]\nhigh = 2\n[variants]\nx = 1',
        "variants are sections",
    ),
    "variant of nothing": (
        'target = "y"\n[features.a]\nhigh = 2\n[variants.actionable.b]\nimmutable = true',
        "there is no feature 'b'",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_files_give_one_clear_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=message) as raised:
        read_schema(path, "actionable" if "[variants.actionable" in text else "paper")
    assert str(raised.value).startswith(str(path))
    assert "\n" not in str(raised.value)


def test_labels_that_are_true_and_false_are_texts() -> None:
    text = 'target = "y"\nlabels = [false, true]\n[features.a]\nhigh = 2'
    assert parse_schema(text).labels == ("False", "True")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot be read"):
        read_schema(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes("target = 'ä'".encode("latin-1"))
    with pytest.raises(SchemaError, match="cannot be read"):
        read_schema(tmp_path / "latin.toml")


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_schemas(name: str) -> None:
    paper = read_schema(sources.schema_path(name), "paper")
    actionable = read_schema(sources.schema_path(name), "actionable")
    assert not any(f.immutable or f.direction != "any" or f.special_fixed for f in paper.features)
    assert paper.names == actionable.names
    assert len(paper.names) == sources.FACTS[name].columns


@pytest.mark.parametrize(
    ("name", "fixed"),
    [("credit", {"SEX", "MARRIAGE", "EDUCATION"}), ("loan", {"State"}), ("cancer", set()), ("heloc", set())],
)
def test_actionable_keeps_what_a_person_cannot_change(name: str, fixed: set[str]) -> None:
    schema = read_schema(sources.schema_path(name), "actionable")
    held = {f.name for f in schema.features if f.immutable or f.direction != "any"}
    assert fixed <= held
