import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cfmark.models import bits

KEY = jax.random.key(0)


def test_words_are_uniform_and_each_bit_is_fair() -> None:
    words = np.asarray(bits.draw(KEY, (1000, 100)))
    counts = np.bincount((words >> 24).ravel(), minlength=256)
    expected = words.size / 256
    assert ((counts - expected) ** 2 / expected).sum() < 340  # chi-square, 255 degrees: p = .0003
    for bit in range(32):
        assert abs(((words >> bit) & 1).mean() - 0.5) < 0.01


def test_neighbours_in_place_and_key_have_nothing_in_common() -> None:
    def unit(words: jax.Array) -> np.ndarray:
        return np.asarray(words, np.float64).ravel()

    words = unit(bits.draw(KEY, (20_000,)))
    others = [words[1:], unit(bits.draw(jax.random.key(1), (20_000,)))]
    others += [unit(bits.draw(k, (20_000,))) for k in jax.random.split(KEY, 3)]
    for other in others:
        assert abs(np.corrcoef(words[: len(other)], other)[0, 1]) < 0.03


def test_a_longer_draw_begins_as_a_shorter_one() -> None:
    np.testing.assert_array_equal(bits.draw(KEY, (50,)), bits.draw(KEY, (80,))[:50])
    np.testing.assert_array_equal(bits.draw(KEY, (4, 5)).ravel(), bits.draw(KEY, (20,)))


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.999])
def test_dropped_at_its_rate(rate: float) -> None:
    assert np.asarray(bits.dropped(KEY, (500, 100), rate)).mean() == pytest.approx(rate, abs=0.007)


def test_many_draws_at_once_are_as_one_by_one() -> None:
    keys = jax.random.split(KEY, 3)
    together = jax.vmap(lambda key: bits.draw(key, (4, 5)))(keys)
    for i in range(3):
        np.testing.assert_array_equal(together[i], bits.draw(keys[i], (4, 5)))


@pytest.mark.parametrize("rows", [50, 70_000])
def test_an_order_has_every_row_once_and_the_last_ones_last(rows: int) -> None:
    last = np.zeros(rows, bool)
    last[[3, 7, rows - 2]] = True
    order = np.asarray(bits.order(KEY, jnp.asarray(last)))
    assert (np.sort(order) == np.arange(rows)).all()
    assert set(order[-3:]) == {3, 7, rows - 2}
    assert abs(np.corrcoef(np.arange(rows - 3), order[:-3])[0, 1]) < 5 / np.sqrt(rows)


def test_every_place_is_as_likely() -> None:
    keys = jax.random.split(KEY, 6000)
    orders = np.asarray(jax.vmap(lambda key: bits.order(key, jnp.zeros(6, bool)))(keys))
    counts = np.stack([(orders == row).sum(axis=0) for row in range(6)])
    assert (np.abs(counts - 1000) < 5 * np.sqrt(1000 * 5 / 6)).all()


@pytest.mark.parametrize("rows", [200, 65_536])
def test_padding_does_not_change_the_order(rows: int) -> None:
    plain = np.asarray(bits.order(KEY, jnp.zeros(rows, bool)))
    padded = np.asarray(bits.order(KEY, jnp.arange(rows + 100) >= rows))
    np.testing.assert_array_equal(padded[:rows], plain)
    np.testing.assert_array_equal(padded[rows:], np.arange(rows, rows + 100))
