import numpy as np
import pytest

from attacks.fakes import Fake, rows
from cfmark.attacks import KINDS, Sources, gather
from cfmark.errors import ConfigError

X = rows(12)
Y = np.arange(12) % 2


def fakes() -> tuple[Fake, Fake, Fake]:
    return Fake(), Fake(), Fake()


@pytest.mark.parametrize(
    ("kind", "asked", "count"), [("queries", 0, 12), ("unmarked", 1, 24), ("foreign", 2, 24)]
)
def test_each_kind_asks_one_service_and_no_other(kind: str, asked: int, count: int) -> None:
    services = fakes()
    got = gather(kind, Sources(*(fake.service() for fake in services)), X, Y)
    assert [bool(fake.calls) for fake in services] == [number == asked for number in range(3)]
    assert len(got.x) == count
    assert got.requests == sum(len(x) for _, x in services[asked].calls)


def test_true_labels_ask_nobody() -> None:
    services = fakes()
    got = gather("true_labels", Sources(*(fake.service() for fake in services)), X, Y)
    assert not any(fake.calls for fake in services)
    np.testing.assert_array_equal(got.x, X)
    np.testing.assert_array_equal(got.y.argmax(axis=1), Y)
    assert (got.y.sum(axis=1) == 1).all()
    assert got.source.tolist() == list(range(12))
    assert (got.kind == 0).all()
    assert got.requests == 0


def test_every_kind_is_an_innocent_and_no_other() -> None:
    sources = Sources(*(fake.service() for fake in fakes()))
    for kind in KINDS:
        assert len(gather(kind, sources, X, Y).x) >= 12
    with pytest.raises(ConfigError, match=r"no innocent 'mrce'; the kinds are queries"):
        gather("mrce", sources, X, Y)
