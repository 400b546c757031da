import hashlib
import hmac
import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfmark.coins import Coins, Secret, canonical, new_secret, read_secret, write_secret
from cfmark.errors import ConfigError

FIXED = Secret(bytes(range(32)))


def test_the_coin_is_the_first_bit_of_the_hmac_of_everything_with_its_length() -> None:
    def part(value: bytes) -> bytes:
        return len(value).to_bytes(8, "big") + value

    message = b"".join(map(part, (b"cfmark coin 1", b"setup", b"beacon", b"{}", b"\0\0\0\3")))
    expected = hmac.new(FIXED.value, message, hashlib.sha256).digest()[0] & 1
    assert Coins(FIXED, b"setup", b"beacon").toss(b"{}", 3) == bool(expected)


@pytest.mark.parametrize("field", ["secret", "setup", "beacon", "query", "index"])
def test_every_part_of_the_message_changes_the_coins(field: str) -> None:
    given_parts = {"secret": FIXED, "setup": b"s", "beacon": b"b"}
    other: dict[str, object] = {"secret": Secret(bytes(32)), "setup": b"t", "beacon": b"c"}

    def tosses(changed: str) -> list[bool]:
        parts = {name: other[name] if name == changed else value for name, value in given_parts.items()}
        head = b"other" if changed == "query" else b"query"
        first = 7 if changed == "index" else 0
        coins = Coins(**parts)  # type: ignore[arg-type]
        return [coins.toss(head + str(i).encode(), first) for i in range(200)]

    assert tosses("") == tosses("")
    same = sum(a == b for a, b in zip(tosses(""), tosses(field), strict=True))
    assert 60 < same < 140


def test_coins_are_fair() -> None:
    coins = Coins(FIXED)
    heads = sum(coins.toss(str(i).encode(), j) for i in range(2000) for j in range(2))
    assert abs(heads - 2000) < 4 * 1000**0.5


def test_parts_do_not_run_into_each_other() -> None:
    ab = [Coins(FIXED, b"a", b"b").toss(bytes([i])) for i in range(64)]
    assert ab != [Coins(FIXED, b"ab", b"").toss(bytes([i])) for i in range(64)]


def test_another_process_tosses_the_same() -> None:
    code = (
        "from cfmark.coins import Coins, Secret\n"
        "coins = Coins(Secret(bytes(range(32))), b's', b'b')\n"
        "print(''.join(str(int(coins.toss(str(i).encode()))) for i in range(64)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    here = Coins(FIXED, b"s", b"b")
    assert told.strip() == "".join(str(int(here.toss(str(i).encode()))) for i in range(64))


@given(st.dictionaries(st.text(), st.text()))
def test_the_canonical_form_does_not_depend_on_the_order_of_names(values: dict[str, str]) -> None:
    assert canonical(values) == canonical(dict(reversed(values.items())))


def test_canonical_forms_of_different_rows_differ() -> None:
    rows = [{}, {"a": ""}, {"a": "1", "b": "2"}, {"a": "2", "b": "1"}, {"a": '1","b":"2'}, {"ab": "12"}]
    assert len({canonical(row) for row in rows}) == len(rows)
    with pytest.raises(ConfigError, match="'a': served values are texts at their precision, not 1"):
        canonical({"a": 1})  # type: ignore[dict-item]


def test_a_secret_keeps_itself_to_itself() -> None:
    secret = new_secret()
    shown = f"{secret} {secret!r} {[secret]} {Coins(secret)!r} {secret.digest}"
    try:
        raise ValueError(secret, Coins(secret))
    except ValueError:
        shown += traceback.format_exc()
    assert secret.value.hex() not in shown
    assert repr(secret.value) not in shown
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(Coins(secret))


def test_two_secrets_differ_and_so_do_their_digests() -> None:
    assert len({new_secret().digest for _ in range(20)}) == 20
    with pytest.raises(ConfigError, match="a secret is 32 bytes"):
        Secret(b"short")


def test_a_key_file_goes_round_and_is_only_the_owners(tmp_path: Path) -> None:
    path, secret = tmp_path / "key", new_secret()
    mask = os.umask(0)
    try:
        write_secret(path, secret)
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_secret(path) == secret
    with pytest.raises(ConfigError, match="is there already"):
        write_secret(path, new_secret())
    assert read_secret(path) == secret


def test_key_files_that_are_refused_do_not_tell_what_is_in_them(tmp_path: Path) -> None:
    path = tmp_path / "key"
    write_secret(path, FIXED)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="others may read it"):
        read_secret(path)
    path.chmod(0o600)
    for wrong in (path.read_text() + "x", FIXED.value.hex(), "", "cfmark-secret-1:" + "0" * 63 + "g"):
        path.write_text(wrong)
        with pytest.raises(ConfigError, match="holds no secret") as caught:
            read_secret(path)
        assert FIXED.value.hex() not in str(caught.value)
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="it is no text"):
        read_secret(path)
    with pytest.raises(ConfigError, match="no secret can be read there"):
        read_secret(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="no file can be made there"):
        write_secret(tmp_path / "no" / "folder", FIXED)
