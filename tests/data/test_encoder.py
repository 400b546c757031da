import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfmark.data import BUILT_IN, Encoder, Feature, Schema, is_present, load
from cfmark.data.schema import MAX_STEPS
from cfmark.errors import TableError
from strategies import schemas, table_of

SCHEMA = Schema(
    (
        Feature("colour", "categorical", categories=("red", "green")),
        Feature("months", "integer", 0, 803, 1, special=(-9.0, -8.0)),
        Feature("grade", "ordinal", categories=("low", "mid", "top")),
        Feature("rate", low=0.1, high=0.7, precision=0.1),
    ),
    target="label",
)
TABLE = pd.DataFrame(
    {
        "colour": ["green", "red"],
        "months": [-9, 803],
        "grade": ["mid", "top"],
        "rate": [0.30000000000000004, 0.7],
        "label": [1, 0],
    }
)


def test_scalars_come_first_then_one_hot_groups() -> None:
    encoder = Encoder(SCHEMA)
    assert encoder.columns == ["months", "grade", "rate", "colour=red", "colour=green"]
    assert encoder.groups == ((3, 5),)
    assert encoder.width == 5
    x = encoder.encode(TABLE)
    assert x.dtype == np.float32
    np.testing.assert_allclose(x, [[0, 0.5, 1 / 3, 0, 1], [1, 1, 1, 1, 0]], rtol=1e-6)


def test_decode_gives_the_table_back_in_its_order_and_types() -> None:
    encoder = Encoder(SCHEMA)
    back = encoder.decode(encoder.encode(TABLE))
    assert list(back.columns) == SCHEMA.names
    assert back["months"].tolist() == [-9, 803]
    assert back["months"].dtype == np.int64
    assert back["rate"].tolist() == [0.3, 0.7]
    assert back["grade"].tolist() == ["mid", "top"]
    assert back["colour"].tolist() == ["green", "red"]


def test_decode_stays_inside_the_grid() -> None:
    encoder = Encoder(SCHEMA)
    back = encoder.decode(np.array([[-5, -5, -5, 0, 0], [7, 7, 7, 1, 2]], np.float32))
    assert back["months"].tolist() == [-9, 803]
    assert back["grade"].tolist() == ["low", "top"]
    assert back["rate"].tolist() == [0.1, 0.7]
    assert back["colour"].tolist() == ["red", "green"]


def test_values_between_grid_points_go_to_the_nearest() -> None:
    encoder = Encoder(SCHEMA)
    table = TABLE.assign(rate=[0.34, 0.36])
    assert encoder.decode(encoder.encode(table))["rate"].tolist() == [0.3, 0.4]
    between = encoder.between_steps(table)
    assert between.any(axis=0).tolist() == [feature.name == "rate" for feature in encoder.scalars]
    assert not encoder.between_steps(TABLE).any()


def test_texts_are_what_a_person_is_told() -> None:
    encoder = Encoder(SCHEMA)
    x = encoder.encode(TABLE)
    texts = encoder.texts(x)
    assert [list(row) for row in texts] == [list(SCHEMA.names)] * len(TABLE)
    for feature in SCHEMA.features:
        told = [row[feature.name] for row in texts]
        if feature.kind == "continuous":
            assert all(len(text.partition(".")[2]) == feature.decimals for text in told)
            assert [float(text) for text in told] == encoder.decode(x)[feature.name].tolist()
        else:
            assert told == [str(value) for value in encoder.decode(x)[feature.name].tolist()]


def test_labels() -> None:
    encoder = Encoder(SCHEMA)
    assert encoder.encode_labels(TABLE).tolist() == [1, 0]
    with pytest.raises(TableError, match="row 2, column 'label': 2 is not one of 0, 1"):
        encoder.encode_labels(TABLE.assign(label=[0, 2]))
    with pytest.raises(TableError, match="column 'label': the column is missing"):
        encoder.encode_labels(TABLE.drop(columns="label"))


@settings(max_examples=100)
@given(schema=schemas(), seed=st.integers(0, 2**32 - 1))
def test_round_trip_is_exact_on_the_grid(schema: Schema, seed: int) -> None:
    encoder, table = Encoder(schema), table_of(schema, 40, seed)
    x = encoder.encode(table)
    assert x.min() >= 0
    assert x.max() <= 1
    back = encoder.decode(x)
    for name in schema.names:
        assert back[name].tolist() == table[name].tolist()
    assert encoder.encode(back).tobytes() == x.tobytes()
    texts = back.astype(str)
    assert encoder.encode(texts).tobytes() == x.tobytes()
    told = encoder.texts(x)
    assert encoder.encode(pd.DataFrame(told)).tobytes() == x.tobytes()
    assert len({tuple(row.items()) for row in told}) == len(np.unique(x, axis=0))


@pytest.mark.parametrize("precision", [1, 0.25, 0.001])
def test_round_trip_of_every_place_on_the_finest_grid(precision: float) -> None:
    feature = Feature("n", low=-7, high=-7 + MAX_STEPS * precision, precision=precision)
    encoder = Encoder(Schema((feature,), "label"))
    table = pd.DataFrame({"n": np.round(-7.0 + np.arange(MAX_STEPS + 1) * precision, 3)})
    x = encoder.encode(table)
    assert np.all(np.diff(x[:, 0]) > 0)
    assert encoder.decode(x)["n"].equals(table["n"])


@pytest.mark.files
@pytest.mark.parametrize("name", BUILT_IN)
def test_round_trip_of_built_in_tables(name: str) -> None:
    if not is_present(name):
        pytest.skip(f"the files of {name} are not in CFMARK_DATA")
    dataset = load(name)
    x = dataset.holdout.x[:5_000]
    assert dataset.encoder.encode(dataset.encoder.decode(x)).tobytes() == x.tobytes()
