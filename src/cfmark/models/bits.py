"""Random bits for training: a hash of a key and a place, an order cheaper than ``jax.random`` on a CPU.

Dropout and shuffling draw millions of words and ask little of them. Each is a few whole-number operations
that fuse into what uses them. A longer draw begins as a shorter one does: word i depends on the key and on i.
"""

import math

import jax
import jax.numpy as jnp

#: An odd number near 2^32 over the golden ratio, and the two multipliers of a 32-bit finaliser.
_SPREAD, _FIRST, _SECOND = 0x9E3779B1, 0x7FEB352D, 0x846CA68B


def draw(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Return uint32 words of that shape."""
    words = jax.random.key_data(key)
    a = _mix(words[0] + jnp.uint32(_SPREAD))
    b = _mix(words[-1] ^ a)
    place = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return _mix(_mix(place * jnp.uint32(_SPREAD) + a) + b)


def _mix(word: jax.Array) -> jax.Array:
    """Let every bit of a word change every other with probability near one half."""
    word = (word ^ (word >> 16)) * jnp.uint32(_FIRST)
    word = (word ^ (word >> 15)) * jnp.uint32(_SECOND)
    mixed: jax.Array = word ^ (word >> 16)
    return mixed


def dropped(key: jax.Array, shape: tuple[int, ...], rate: float) -> jax.Array:
    """Return booleans of that shape, true at ``rate``; drawn once, however often they are used."""
    words: jax.Array = jax.lax.optimization_barrier(draw(key, shape))  # type: ignore[no-untyped-call]
    below: jax.Array = words < jnp.uint32(int(rate * 2**32))
    return below


def order(key: jax.Array, last: jax.Array) -> jax.Array:
    """Return row numbers (n,) in random order, those with ``last`` (n,) at the end.

    Rows are sorted by 15 random bits, equal ones by number. Up to 2^16 rows the number is in the same word as
    the bits: sorting words is several times faster than sorting pairs.
    """
    rows = last.shape[0]
    rank = jnp.where(last, jnp.uint32(1 << 15), draw(key, (rows,)) >> 17)
    if rows > 1 << 16:
        return jnp.argsort(rank)
    number = jax.lax.iota(jnp.uint32, rows)
    ordered: jax.Array = jnp.sort((rank << 16) | number) & jnp.uint32(0xFFFF)
    return ordered.astype(jnp.int32)
