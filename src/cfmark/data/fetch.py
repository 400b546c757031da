"""Download the built-in data sets' files, and keep only the right bytes.

A file arrives as ``<file>.part``, is checked against its size and sha256, and is renamed when it is whole. A
download that breaks off leaves the ``.part``, and the next one goes on where it stopped.
"""

import gzip
import hashlib
import http.client
import tomllib
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from cfmark.data import sources
from cfmark.errors import DatasetError

TIMEOUT_SECONDS = 30.0
_PIECE = 1 << 16

#: Called with the file's path in the data folder, the bytes that have arrived, and how many there will be.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Item:
    """One file of the catalogue.

    Attributes
    ----------
    path
        Where it lies in the data folder.
    size, sha256
        Of the file as it is kept.
    place, at
        The public place's name, and the file's address below it.
    """

    path: str
    size: int
    sha256: str
    place: str
    at: str

    @property
    def is_packed(self) -> bool:
        """Whether the public place has it gzipped."""
        return self.at.endswith(".gz")

    @property
    def most(self) -> int:
        """The most bytes a download may have: gzip adds little to what does not compress."""
        return self.size + self.size // 1000 + 1024 if self.is_packed else self.size


@cache
def catalogue() -> tuple[Mapping[str, str], Mapping[str, Item]]:
    """Read the public places' addresses, and the files by their path in the data folder."""
    document = tomllib.loads((Path(__file__).parent / "catalogue.toml").read_text(encoding="utf-8"))
    items = {
        path: Item(path, entry["bytes"], entry["sha256"], entry["place"], entry["at"])
        for path, entry in document["files"].items()
    }
    return MappingProxyType(document["places"]), MappingProxyType(items)


def get(
    name: str,
    folder: Path | None = None,
    *,
    base_urls: Mapping[str, str] | None = None,
    items: Mapping[str, Item] | None = None,
    progress: Progress | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> list[Path]:
    """Download what is missing of a data set's files, and return where they are.

    Parameters
    ----------
    name
        A data set that needs files: credit, heloc, loan or mnist01.
    folder
        The data folder; by default the one that ``load`` looks in.
    base_urls, items
        Other public places than the catalogue's, and other files.
    progress
        Called after every piece.
    timeout
        Seconds of silence after which a download has failed.
    """
    if name not in sources.FILES:
        inside = " (it needs no files)" if name in (*sources.BUILT_IN, "synthetic") else ""
        raise DatasetError(f"there is nothing to get for {name!r}{inside}; choose {', '.join(sources.FILES)}")
    places, known = catalogue()
    base, files = base_urls or places, items or known
    paths = []
    for path in sources.FILES[name]:
        item = files[path]
        address = f"{base[item.place].rstrip('/')}/{quote(item.at, safe='/=')}"
        download = _Download(name, item, address, (folder or sources.data_folder()) / path, progress, timeout)
        paths.append(download.run())
    return paths


@dataclass(frozen=True)
class _Download:
    name: str
    item: Item
    address: str
    path: Path
    progress: Progress | None
    timeout: float

    @property
    def part(self) -> Path:
        return self.path.with_name(self.path.name + ".part")

    def run(self) -> Path:
        try:
            if self.path.is_file() and _sha256(self.path) == self.item.sha256:
                self._tell(self.item.size, self.item.size)
                return self.path
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self._is_whole():
                self._receive()
            self._keep()
        except OSError as problem:
            raise DatasetError(f"{self.name}: {self.path} cannot be written ({problem})") from problem
        return self.path

    def _receive(self) -> None:
        """Add to the ``.part`` until the server has no more, or send an error that says what was kept."""
        with self._open() as answer:
            arrived = self._offset(answer)
            total = self.item.size if not self.item.is_packed else arrived + int(answer.length or 0)
            with self.part.open("ab" if arrived else "wb") as part:
                for piece in self._pieces(answer):
                    arrived += len(piece)
                    if arrived > self.item.most:
                        break
                    part.write(piece)
                    self._tell(arrived, max(total, arrived))
        if arrived > self.item.most:
            self.part.unlink()
            raise self._wrong(f"more than the {self.item.most:,} bytes expected")
        if not self._is_whole():
            raise self._broken_off("the connection ended too early")

    def _open(self) -> http.client.HTTPResponse:
        """Ask for what is missing; where the server cannot go on from there, ask for everything."""
        arrived = self._arrived()
        request = urllib.request.Request(self.address)
        if arrived:
            request.add_header("Range", f"bytes={arrived}-")
        try:
            answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=self.timeout)
        except urllib.error.HTTPError as problem:
            problem.close()
            if problem.code == 416 and arrived:
                self.part.unlink()
                return self._open()
            raise self._broken_off(f"the server answered {problem.code} {problem.reason}") from problem
        except (OSError, http.client.HTTPException) as problem:
            raise self._broken_off(_reason(problem)) from problem
        if answer.status != 206 or self._offset(answer) == arrived:
            return answer
        answer.close()
        if not arrived:
            raise self._broken_off("the server sent a part of the file, not the whole")
        self.part.unlink()
        return self._open()

    def _offset(self, answer: http.client.HTTPResponse) -> int:
        """Return how many of the bytes we have the answer goes on from: 0 if it starts afresh."""
        if answer.status != 206:
            return 0
        first = str(answer.headers.get("Content-Range", "")).removeprefix("bytes ").partition("-")[0]
        return int(first) if first.isdigit() else -1

    def _pieces(self, answer: http.client.HTTPResponse) -> Iterator[bytes]:
        while True:
            try:
                piece = answer.read(_PIECE)
            except (OSError, http.client.HTTPException) as problem:
                raise self._broken_off(_reason(problem)) from problem
            if not piece:
                return
            yield piece

    def _arrived(self) -> int:
        return self.part.stat().st_size if self.part.is_file() else 0

    def _is_whole(self) -> bool:
        """Whether the ``.part`` has nothing more to come, right or wrong."""
        if not self.item.is_packed:
            return self._arrived() >= self.item.size
        try:
            return self._arrived() > 0 and self._unpacked() is not None
        except EOFError:
            return False

    def _unpacked(self) -> bytes | None:
        """Unpack at most one byte more than the file has; nothing if these bytes are no gzip file."""
        try:
            with gzip.open(self.part) as packed:
                return packed.read(self.item.size + 1)
        except (gzip.BadGzipFile, zlib.error):
            return b""

    def _keep(self) -> None:
        """Check the bytes, and give them their name."""
        if self.item.is_packed:
            content = self._unpacked() or b""
            got = hashlib.sha256(content).hexdigest()
        else:
            got = _sha256(self.part)
        if got != self.item.sha256:
            self.part.unlink()
            raise self._wrong(f"sha256 {got}, expected {self.item.sha256}")
        if not self.item.is_packed:
            self.part.replace(self.path)
            return
        ready = self.path.with_name(self.path.name + ".unpacked.part")
        ready.write_bytes(content)
        ready.replace(self.path)
        self.part.unlink()

    def _tell(self, arrived: int, total: int) -> None:
        if self.progress is not None:
            self.progress(self.item.path, arrived, total)

    def _wrong(self, what: str) -> DatasetError:
        return DatasetError(
            f"{self.name}: {self.address} sent the wrong bytes for {self.item.path} ({what}); they were "
            f"deleted. Run 'cfmark datasets get {self.name}' to start afresh, or put the right file at "
            f"{self.path}"
        )

    def _broken_off(self, why: str) -> DatasetError:
        arrived = self._arrived()
        again = f"run 'cfmark datasets get {self.name}' again"
        advice = f"{again}, or put the file at {self.path}"
        if arrived:
            advice = f"the {arrived:,} bytes that have arrived are kept, {again} to go on"
        return DatasetError(f"{self.name}: {self.address} could not be downloaded ({why}); {advice}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reason(problem: Exception) -> str:
    inner = problem.reason if isinstance(problem, urllib.error.URLError) else problem
    if isinstance(inner, TimeoutError):
        return "no answer in time"
    return str(inner) or type(inner).__name__
