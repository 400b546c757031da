"""Schema files: TOML that a person can read and edit, for built-in data sets and for one's own.

A file names the target, its two labels, columns to drop, and one ``[features.NAME]`` section a column.
A section ``[variants.actionable.NAME]`` changes attributes of that feature in the variant "actionable".
"""

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from cfmark.data.schema import Feature, Schema
from cfmark.errors import CfmarkError, SchemaError

_FEATURE_KEYS = {field.name for field in fields(Feature)} - {"name"}
_TOP_KEYS = {"target", "labels", "drop", "features", "variants"}
_TYPES: dict[str, tuple[type, ...]] = {
    "kind": (str,),
    "low": (int, float),
    "high": (int, float),
    "precision": (int, float),
    "categories": (list,),
    "immutable": (bool,),
    "direction": (str,),
    "special": (list,),
    "special_fixed": (bool,),
    "unit": (str,),
    "note": (str,),
}
_MEMBERS = {"categories": "text or number", "special": "number"}


def read_schema(path: str | Path, variant: str = "paper") -> Schema:
    """Read a schema file; ``variant`` names a set of changes in it ("paper" is the file without any)."""
    path = Path(path)
    try:
        return parse_schema(path.read_text(encoding="utf-8"), variant)
    except (OSError, UnicodeDecodeError) as problem:
        raise SchemaError(f"{path}: the schema cannot be read ({problem})") from problem
    except CfmarkError as problem:
        raise SchemaError(f"{path}: {problem}") from problem


def parse_schema(text: str, variant: str = "paper") -> Schema:
    """Build the Schema of a TOML text; unknown keys are errors."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SchemaError(f"not valid TOML ({problem})") from problem
    _known(document, _TOP_KEYS, "the file")
    if not isinstance(document.get("target"), str) or not isinstance(document.get("features"), dict):
        raise SchemaError("the file needs a line 'target = ...' and sections [features.NAME]")
    schema = Schema(
        features=tuple(Feature(name=k, **_attributes(k, v)) for k, v in document["features"].items()),
        target=document["target"],
        labels=_labels(document.get("labels", [0, 1])),
        drop=_drop(document.get("drop", [])),
    )
    variants = document.get("variants", {})
    if not isinstance(variants, dict) or not all(isinstance(changes, dict) for changes in variants.values()):
        raise SchemaError("variants are sections: [variants.VARIANT.FEATURE]")
    if variant == "paper" and variant not in variants:
        return schema
    if variant not in variants:
        raise SchemaError(f"there is no variant {variant!r}; the file has {', '.join(['paper', *variants])}")
    return schema.with_changes({k: _attributes(k, v) for k, v in variants[variant].items()})


def _labels(labels: Any) -> tuple[Any, Any]:
    if not isinstance(labels, list) or len(labels) != 2:
        raise SchemaError("labels must be a list of two values: class 0, then class 1")
    first, second = (str(label) if isinstance(label, bool) else label for label in labels)
    if not isinstance(first, str | int | float) or not isinstance(second, str | int | float):
        raise SchemaError("a label is a text or a number")
    return first, second


def _drop(names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SchemaError('drop must be a list of column names, like drop = ["id"]')
    return tuple(names)


def _attributes(name: str, section: Any) -> dict[str, Any]:
    if not isinstance(section, dict):
        raise SchemaError(f"{name}: expected a section with kind, low, high, ...")
    _known(section, _FEATURE_KEYS, name)
    for key, value in section.items():
        if not isinstance(value, _TYPES[key]) or (isinstance(value, bool) and bool not in _TYPES[key]):
            raise SchemaError(f"{name}: {key} = {value!r} has the wrong type")
        if isinstance(value, list) and not all(_is_member(key, member) for member in value):
            raise SchemaError(f"{name}: {key} = {value!r} holds something that is no {_MEMBERS[key]}")
    attributes = {key: tuple(v) if isinstance(v, list) else v for key, v in section.items()}
    if attributes.get("kind") == "integer":
        attributes.setdefault("precision", 1)
    return attributes


def _is_member(key: str, value: object) -> bool:
    wanted = (int, float) if key == "special" else (str, int, float)
    return isinstance(value, wanted) and not isinstance(value, bool)


def _known(section: dict[str, Any], allowed: set[str], where: str) -> None:
    unknown = sorted(set(section) - allowed)
    if unknown:
        raise SchemaError(f"{where}: unknown key {unknown[0]!r}; allowed are {', '.join(sorted(allowed))}")
