"""Which templates there are: those of the project, of the user, and the built-in ones, the nearest first."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from threadloom.agent.templates.base import Fault, Source, Template, UnknownTemplate
from threadloom.agent.templates.parse import Broken, parse
from threadloom.config import files
from threadloom.config.projects import FOLDER, root

BUILT_IN: Final = Path(__file__).parent / "builtin"
AGENTS: Final = "agents"
MAX_BYTES: Final = 256 * 1024  # of a file: what is longer is no prompt
MAX_FILES: Final = 256  # of a folder: nobody chooses from more
KEPT: Final = 1024  # files whose templates are kept ready
FRESH: Final = 1_000_000_000  # nanoseconds: a file this young may change again within one tick of its clock


class Read(NamedTuple):
    """What a file came to."""

    template: Template | None
    faults: tuple[Fault, ...] = ()


class Found(NamedTuple):
    """All that holds now, by name, and what was wrong with the rest."""

    templates: tuple[Template, ...]
    faults: tuple[Fault, ...]


class Place(NamedTuple):
    """A folder of templates."""

    folder: str
    source: Source
    within: str | None = None  # what its links may not lead out of


class Shelf:
    """Templates by file: read again only when a file has changed. One for all catalogs of a server."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Source], tuple[files.Signature, Read]] = {}

    def read(self, path: str, source: Source) -> Read:
        """What the file says now."""
        signature = files.signature(Path(path))
        kept = self._kept.get((path, source))
        if kept is not None and kept[0] == signature:
            return kept[1]
        read = _read(path, source)
        if signature is not None and time.time_ns() - signature[3] > FRESH:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[path, source] = signature, read
        return read


class Catalog:
    """The templates that hold in a directory; looked up anew each time, so that an edit holds for the next agent."""

    def __init__(
        self, home: Path, cwd: str | Path, shelf: Shelf | None = None, markers: Sequence[str] = (".git",)
    ) -> None:
        self._home = home
        self._cwd = os.path.abspath(cwd)
        self._shelf = shelf if shelf is not None else Shelf()
        self._markers = markers  # what the root of a project has in it

    def all(self) -> list[Template]:
        """Every template, by name."""
        return list(self.look().templates)

    def get(self, name: str) -> Template:
        """The nearest one of that name, and no other file is read. Raises `UnknownTemplate`."""
        found = next((read.template for read in self._named(name) if read.template is not None), None)
        if found is None:
            raise UnknownTemplate(name, (it.name for it in self.all()), self.faults_of(name))
        return found

    def faults_of(self, name: str) -> list[Fault]:
        """What is passed over to come to the nearest one of that name, and of that one itself."""
        return [fault for read in self._named(name) for fault in read.faults]

    def _named(self, name: str) -> Iterator[Read]:
        """What the files of that name came to, as far as the nearest that can be used."""
        for place in self._places() if _plain(name) else ():
            if os.path.lexists(f"{place.folder}/{name}.md"):
                yield (read := self._read(place, f"{name}.md"))
                if read.template is not None:
                    return

    def faults(self) -> list[Fault]:
        """What is passed over, and why."""
        return list(self.look().faults)

    def look(self) -> Found:
        """All of it. A template that is broken hides none of the same name that lies farther away."""
        nearest: dict[str, Template] = {}
        faults: list[Fault] = []
        for place in self._places():
            for read in self._reads(place):
                faults += read.faults
                if read.template is not None:
                    nearest.setdefault(read.template.name, read.template)
        return Found(tuple(nearest[name] for name in sorted(nearest)), tuple(faults))

    def _places(self) -> Iterator[Place]:
        """Nearest first; a folder that is both the project's and the user's is the user's."""
        own = os.path.realpath(self._home / AGENTS)
        top = root(self._cwd, self._markers)
        folder = self._cwd
        while True:
            agents = f"{folder.rstrip('/')}/{FOLDER}/{AGENTS}"
            if os.path.realpath(agents) != own:
                yield Place(agents, "project", os.path.realpath(top))
            if folder == top:
                break
            folder = os.path.dirname(folder)
        yield Place(str(self._home / AGENTS), "user")
        yield Place(str(BUILT_IN), "built-in")

    def _reads(self, place: Place) -> Iterator[Read]:
        try:
            names = sorted(it for it in os.listdir(place.folder) if it.endswith(".md") and _plain(it))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            yield _skipped(place.folder, _why(error))
            return
        if len(names) > MAX_FILES:
            yield _skipped(place.folder, f"only the first {MAX_FILES} of its {len(names)} templates are read")
        yield from (self._read(place, name) for name in names[:MAX_FILES])

    def _read(self, place: Place, name: str) -> Read:
        path = f"{place.folder}/{name}"
        if place.within is not None and not _inside(path, place.within):
            return _skipped(path, "it leads out of the project")
        return self._shelf.read(path, place.source)


def _plain(name: str) -> bool:
    """Whether it names a file in its folder, and not a hidden one. What a model asks for may be anything."""
    return not name.startswith(".") and "/" not in name and "\0" not in name


def _inside(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(f"{folder.rstrip('/')}/")


def _read(path: str, source: Source) -> Read:
    try:
        raw = files.read(Path(path)) if os.path.isfile(path) else None
        if raw is None:
            return _skipped(path, "it is not a regular file")
        if len(raw) > MAX_BYTES:
            return _skipped(path, f"it is longer than {MAX_BYTES} bytes")
        template, faults = parse(Path(path).stem, raw.decode(), path, source)
    except OSError as error:
        return _skipped(path, _why(error))
    except UnicodeDecodeError:
        return _skipped(path, "it is not UTF-8")
    except Broken as error:
        return _skipped(path, str(error))
    return Read(template, tuple(faults))


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _skipped(path: str, reason: str) -> Read:
    return Read(None, (Fault(path, reason),))
