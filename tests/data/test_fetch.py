import gzip
import hashlib
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cfmark.data import fetch, sources
from cfmark.errors import DatasetError

PATH = "heloc/heloc_dataset.csv"
CONTENT = bytes(range(256)) * 800
PACKED = gzip.compress(CONTENT, mtime=0)


class Server(ThreadingHTTPServer):
    """Serves ``content``; the knobs make it misbehave."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.stop_after: int | None = None
        self.status: int | None = None
        self.knows_range = True
        self.range_starts_at: int | None = None
        self.silent = threading.Event()
        self.silent.set()
        self.asked: list[str | None] = []

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is part of the tests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append(wanted)
        server.silent.wait(10)
        if server.status is not None:
            self.send_error(server.status)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.knows_range else 0
        if start and start >= len(server.content):
            self.send_error(416)
            return
        start = server.range_starts_at if start and server.range_starts_at is not None else start
        body = server.content[start:]
        self.send_response(206 if start or (wanted and server.knows_range) else 200)
        if wanted and server.knows_range:
            self.send_header(
                "Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}"
            )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: server.stop_after])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.silent.set()
        running.shutdown()
        thread.join()


Get = Callable[..., list[Path]]


@pytest.fixture(params=["plain", "gzipped"])
def get(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Get:
    """Get one small file, plain or gzipped, from the local server into ``tmp_path``."""
    packed = request.param == "gzipped"
    server.content = PACKED if packed else CONTENT
    at = "a place/x=1.csv" + (".gz" if packed else "")
    item = fetch.Item(PATH, len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "here", at)
    return lambda **changes: fetch.get(
        "heloc", tmp_path, base_urls={"here": server.url}, items={PATH: item}, timeout=5, **changes
    )


def part(tmp_path: Path) -> Path:
    return tmp_path / (PATH + ".part")


def names(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "heloc").iterdir())


def test_right_bytes_arrive_under_their_name_and_progress_is_told(get: Get, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    paths = get(progress=lambda *call: told.append(call))
    assert paths == [tmp_path / PATH]
    assert paths[0].read_bytes() == CONTENT
    assert names(tmp_path) == ["heloc_dataset.csv"]
    assert {path for path, _, _ in told} == {PATH}
    assert told[-1][1] == told[-1][2] > 0


def test_a_right_file_is_not_downloaded_again(get: Get, server: Server) -> None:
    get()
    get()
    assert len(server.asked) == 1


def test_a_wrong_file_is_replaced(get: Get, tmp_path: Path) -> None:
    (tmp_path / "heloc").mkdir()
    (tmp_path / PATH).write_bytes(b"old")
    assert get()[0].read_bytes() == CONTENT


def test_a_broken_download_is_kept_and_resumed(get: Get, server: Server, tmp_path: Path) -> None:
    server.stop_after = 600
    with pytest.raises(DatasetError, match=r"the 600 bytes that have arrived are kept.*get heloc' again"):
        get()
    assert part(tmp_path).stat().st_size == 600
    assert not (tmp_path / PATH).exists()
    server.stop_after = None
    assert get()[0].read_bytes() == CONTENT
    assert server.asked == [None, "bytes=600-"]
    assert names(tmp_path) == ["heloc_dataset.csv"]


def test_a_server_that_ignores_range_starts_afresh(get: Get, server: Server) -> None:
    server.stop_after = 600
    with pytest.raises(DatasetError):
        get()
    server.stop_after, server.knows_range = None, False
    assert get()[0].read_bytes() == CONTENT
    assert server.asked == [None, "bytes=600-"]


def test_a_server_that_resumes_elsewhere_starts_afresh(get: Get, server: Server) -> None:
    server.stop_after = 600
    with pytest.raises(DatasetError):
        get()
    server.stop_after, server.range_starts_at = None, 7
    assert get()[0].read_bytes() == CONTENT
    assert server.asked == [None, "bytes=600-", None]


def test_a_part_longer_than_the_servers_file_starts_afresh(get: Get, server: Server, tmp_path: Path) -> None:
    (tmp_path / "heloc").mkdir()
    part(tmp_path).write_bytes(server.content[:900])
    whole, server.content = server.content, server.content[:800]
    with pytest.raises(DatasetError, match="800 bytes that have arrived are kept"):
        get()
    assert server.asked == ["bytes=900-", None]
    server.content = whole
    assert get()[0].read_bytes() == CONTENT


def test_a_whole_part_needs_no_server(get: Get, server: Server, tmp_path: Path) -> None:
    (tmp_path / "heloc").mkdir()
    part(tmp_path).write_bytes(server.content)
    assert get()[0].read_bytes() == CONTENT
    assert server.asked == []


def test_wrong_bytes_are_deleted_and_named(get: Get, server: Server, tmp_path: Path) -> None:
    wrong = bytes(len(CONTENT))
    server.content = gzip.compress(wrong) if server.content == PACKED else wrong
    got, expected = hashlib.sha256(wrong).hexdigest(), hashlib.sha256(CONTENT).hexdigest()
    with pytest.raises(DatasetError, match=rf"heloc_dataset.csv \(sha256 {got}, expected {expected}\)"):
        get()
    assert names(tmp_path) == []


def test_a_resumed_part_with_wrong_bytes_is_deleted(get: Get, server: Server, tmp_path: Path) -> None:
    (tmp_path / "heloc").mkdir()
    damaged = bytearray(server.content[:600])
    damaged[300] ^= 255
    part(tmp_path).write_bytes(damaged)
    with pytest.raises(DatasetError, match="wrong bytes"):
        get()
    assert names(tmp_path) == []
    assert get()[0].read_bytes() == CONTENT


def test_too_many_bytes_are_never_written(
    get: Get, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    server.content = CONTENT + bytes(2_000_000)
    with pytest.raises(DatasetError, match="wrong bytes"):
        get(progress=lambda *_: sizes.append(part(tmp_path).stat().st_size))
    assert max(sizes, default=0) <= len(CONTENT) + 2048
    assert names(tmp_path) == []


def test_a_gzip_bomb_is_not_unpacked(server: Server, tmp_path: Path) -> None:
    server.content = gzip.compress(bytes(50_000_000))
    item = fetch.Item(PATH, 100_000, "0" * 64, "here", "bomb.gz")
    tracemalloc.start()
    with pytest.raises(DatasetError, match="wrong bytes"):
        fetch.get("heloc", tmp_path, base_urls={"here": server.url}, items={PATH: item})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000
    assert names(tmp_path) == []


@pytest.mark.parametrize("status", [404, 500])
def test_an_error_answer_is_one_clear_line(get: Get, server: Server, status: int) -> None:
    server.status = status
    with pytest.raises(DatasetError, match=rf"heloc: http.*answered {status} .*put the file at") as raised:
        get()
    assert "\n" not in str(raised.value)


def test_nobody_listens(get: Get, server: Server, tmp_path: Path) -> None:
    (tmp_path / "heloc").mkdir()
    part(tmp_path).write_bytes(server.content[:500])
    server.shutdown()
    server.server_close()
    with pytest.raises(DatasetError, match=r"refused.*the 500 bytes that have arrived are kept"):
        get()
    assert part(tmp_path).stat().st_size == 500


def test_a_silent_server_is_given_up(server: Server, tmp_path: Path) -> None:
    server.silent.clear()
    item = fetch.Item(PATH, 10, "0" * 64, "here", "x.csv")
    with pytest.raises(DatasetError, match="no answer in time"):
        fetch.get("heloc", tmp_path, base_urls={"here": server.url}, items={PATH: item}, timeout=0.2)


def test_a_folder_that_cannot_be_written(get: Get, tmp_path: Path) -> None:
    (tmp_path / "heloc").write_text("a file where a folder should be")
    with pytest.raises(DatasetError, match="cannot be written"):
        get()


@pytest.mark.parametrize(
    ("name", "message"), [("cancer", r"\(it needs no files\)"), ("nothing", "choose credit, heloc, loan")]
)
def test_names_without_files(name: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        fetch.get(name)


def test_the_catalogue_knows_every_file_and_every_place() -> None:
    places, items = fetch.catalogue()
    wanted = {path for paths in sources.FILES.values() for path in paths}
    assert set(items) == wanted
    assert {item.place for item in items.values()} <= set(places)
    assert all(len(item.sha256) == 64 and item.size > 0 for item in items.values())
    assert all(address.startswith("https://") for address in places.values())


@pytest.mark.files
@pytest.mark.parametrize("name", sorted(sources.FILES))
def test_files_that_are_here_are_the_catalogues(name: str) -> None:
    if not sources.is_present(name):
        pytest.skip(f"the files of {name} are not in CFMARK_DATA")
    nowhere = dict.fromkeys(fetch.catalogue()[0], "http://127.0.0.1:9")
    assert len(fetch.get(name, base_urls=nowhere)) == len(sources.FILES[name])
