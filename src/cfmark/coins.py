"""Coins: which of two twins is issued, decided by the owner's secret and nothing that the owner can choose.

    coin = first bit of HMAC-SHA256(secret, tag, setup digest, beacon, canonical query, number of the CF)

The setup digest commits to everything that shapes the pairs before the first one is served; the beacon is a
public random value that is known only after that commitment. So the owner cannot try out secrets, models or
seeds until the coins suit. A query has one coin for each of its counterfactuals, however often it is asked.

NumPy is not needed here, nor anything else that is not in Python itself: an arbiter recomputes coins alone.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfmark.errors import ConfigError

SECRET_BYTES = 32
#: Where there is no commitment and no beacon (a demo, a test), these stand in their places.
NO_SETUP, NO_BEACON = b"", b""
_COIN, _DIGEST = b"cfmark coin 1", b"cfmark secret 1"
_HEAD = "cfmark-secret-1:"


@dataclass(frozen=True)
class Secret:
    """The owner's key. It never shows itself: not in a repr, a log, a report or a traceback.

    >>> Secret(bytes(32))
    Secret(...)
    """

    value: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.value, bytes) or len(self.value) != SECRET_BYTES:
            raise ConfigError(f"a secret is {SECRET_BYTES} bytes")

    def __repr__(self) -> str:
        return "Secret(...)"

    def __reduce__(self) -> Any:
        raise TypeError("a secret is not pickled: hand over the path of its file")

    @property
    def digest(self) -> str:
        """The hexadecimal SHA-256 that commits to the secret."""
        return hashlib.sha256(_joined(_DIGEST, self.value)).hexdigest()


@dataclass(frozen=True)
class Coins:
    """All coins of one setup.

    Attributes
    ----------
    secret
        The owner's key.
    setup
        The digest of the setup record.
    beacon
        The public random value that was published after it.
    """

    secret: Secret
    setup: bytes = NO_SETUP
    beacon: bytes = NO_BEACON

    def toss(self, query: bytes, index: int = 0) -> bool:
        """Return the coin of a query in its canonical form, for its CF of that number."""
        message = _joined(_COIN, self.setup, self.beacon, query, index.to_bytes(4, "big"))
        return bool(hmac.digest(self.secret.value, message, "sha256")[0] & 1)


def canonical(values: Mapping[str, str]) -> bytes:
    """Return the one form of a row at served values: JSON of decimal texts, names in order (RFC 8785).

    >>> canonical({"worst area": "1227.0", "age": "40"})
    b'{"age":"40","worst area":"1227.0"}'
    """
    names = sorted(values, key=lambda name: name.encode("utf-16-be"))
    for name in names:
        if not isinstance(values[name], str):
            raise ConfigError(f"{name!r}: served values are texts at their precision, not {values[name]!r}")
    row = {name: values[name] for name in names}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def new_secret() -> Secret:
    """Return a secret from the system's source of randomness."""
    return Secret(secrets.token_bytes(SECRET_BYTES))


def write_secret(path: Path, secret: Secret) -> None:
    """Write a secret to a new file that only its owner may read (mode 600); an old file is never replaced."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as problem:
        raise ConfigError(f"{path} is there already: a lost secret cannot be made again") from problem
    except OSError as problem:
        raise ConfigError(f"{path}: no file can be made there ({problem.strerror})") from problem
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{_HEAD}{secret.value.hex()}\n")
        file.flush()
        os.fsync(file.fileno())


def read_secret(path: Path) -> Secret:
    """Read a secret; a file that others may read is refused. What is in it is never told."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii") if stat.S_ISREG(mode) and path.stat().st_size < 1024 else ""
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is no text"
        raise ConfigError(f"{path}: no secret can be read there ({reason})") from None
    if mode & 0o077:
        raise ConfigError(f"{path}: others may read it (mode {stat.S_IMODE(mode):o}): run chmod 600 on it")
    match = re.fullmatch(rf"{_HEAD}([0-9a-f]{{{2 * SECRET_BYTES}}})\n?", text)
    if match is None:
        raise ConfigError(f"{path}: it holds no secret; cfmark keygen makes one")
    return Secret(bytes.fromhex(match[1]))


def _joined(*parts: bytes) -> bytes:
    """Return the parts with their lengths before them, so that no two lists of parts look alike."""
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)
