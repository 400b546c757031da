import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfmark.errors import ConfigError
from cfmark.types import MarkedExplanations, Twins
from cfmark.verification import tossed


def pairs_of(seed: int, n: int = 12, m: int = 2, d: int = 3) -> MarkedExplanations:
    random = np.random.default_rng(seed)
    issued, withheld = random.integers(0, 3, (2, n, m, d)).astype(np.float32) / 4
    paired = (issued != withheld).any(axis=2)
    found = np.ones((n, m), bool)
    x = random.uniform(0, 1, (n, d)).astype(np.float32)
    return MarkedExplanations(x, issued, withheld, found, paired, random.integers(0, 2, n))


def turned(pairs: MarkedExplanations, coins: np.ndarray) -> MarkedExplanations:
    """Return the pairs as other coins would have issued them."""
    issued = np.where(coins[:, :, None], pairs.counterpart, pairs.issued)
    withheld = np.where(coins[:, :, None], pairs.issued, pairs.counterpart)
    return pairs._replace(issued=issued, counterpart=withheld)


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_other_coins_give_the_same_twins_and_other_signs(seed: int, of_coins: int) -> None:
    pairs = pairs_of(seed)
    coins = np.random.default_rng(of_coins).integers(0, 2, pairs.paired.shape).astype(bool)
    before, after = tossed(pairs), tossed(turned(pairs, coins))
    for one, other in zip(before.twins, after.twins, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(before.sign * np.where(coins[pairs.paired], -1, 1), after.sign)


def test_sign_says_which_twin_was_issued() -> None:
    pairs = pairs_of(1)
    found = tossed(pairs)
    issued = np.where(found.sign[:, None] == 1, found.twins.low, found.twins.high)
    np.testing.assert_array_equal(issued, pairs.issued[pairs.paired])
    assert (found.twins.low != found.twins.high).any(axis=1).all()


def test_a_query_asked_again_counts_once() -> None:
    pairs = pairs_of(2)
    twice = MarkedExplanations(*(np.concatenate([part, part[:5]]) for part in pairs))
    once, again = tossed(pairs), tossed(twice)
    assert again.repeats == int(pairs.paired[:5].sum())
    np.testing.assert_array_equal(once.sign, again.sign)
    for one, other in zip(once.twins, again.twins, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("part", "told"), [("issued", "issued"), ("counterpart", "withheld")])
def test_a_coin_that_fell_twice_is_refused(part: str, told: str) -> None:
    pairs = pairs_of(3)
    twice = MarkedExplanations(*(np.concatenate([each, each[:5]]) for each in pairs))
    getattr(twice, part)[-5:] += 7
    with pytest.raises(ConfigError, match=f"different {told} values .*a coin is tossed once"):
        tossed(twice)


def test_queries_that_were_served_before_are_known() -> None:
    pairs = pairs_of(4)
    pairs.counterpart[0, 0] = 0.9  # nobody was ever served this
    pairs.x[3], pairs.x[5] = pairs.issued[0, 1], pairs.counterpart[0, 0]
    found = tossed(pairs)
    rows = np.nonzero(pairs.paired)[0]
    np.testing.assert_array_equal(found.adaptive, rows == 3)
    left = found.only(~found.adaptive)
    assert len(left.sign) == len(left.twins.x) == int((rows != 3).sum())
    assert not left.adaptive.any()


def test_twins_hold_nothing_of_the_coin() -> None:
    assert Twins._fields == ("x", "low", "high", "target", "number")
