"""The page docs/adding/dataset.md does what it says."""

import re
from pathlib import Path

import pytest

from cfmark.data import load_table
from cfmark.data.infer import infer_schema
from cfmark.errors import TableError

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/adding/dataset.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[0], "the page", "exec"), {})
    return Path("loans.csv")


def test_the_first_schema_is_the_pages(table: Path) -> None:
    assert blocks("toml")[0] in infer_schema(table, "approved", ("no", "yes"))


def test_the_edited_schema_loads_the_table(table: Path) -> None:
    Path("loans.toml").write_text(blocks("toml")[1], encoding="utf-8")
    dataset = load_table(table, "loans.toml")
    described = blocks("console")[1]
    assert all(feature.name in described for feature in dataset.schema.features)
    for name in "train", "query", "holdout":
        y = getattr(dataset, name).y
        assert re.search(rf"{name} +{len(y)} +{y.mean():.1%} ", described)


def test_the_error_is_the_pages(table: Path) -> None:
    lines = table.read_text().splitlines()
    number, _, *rest = lines[9].split(",")
    lines[9] = ",".join([number, "lots", *rest])
    table.write_text("\n".join(lines))
    with pytest.raises(TableError) as raised:
        infer_schema(table, "approved")
    assert blocks("text")[0].strip() == f"error: {raised.value}"


def test_the_files_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"`((?:src|tests)/[\w./]+)`", PAGE)) - {"src/cfmark/data/schemas/wages.toml"}
    assert len(named) >= 3
    assert all((ROOT / path).exists() for path in named)
