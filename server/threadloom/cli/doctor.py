"""`threadloom doctor`: what works here and what does not, without changing anything or asking the network."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

from threadloom import __version__
from threadloom.cli.output import in_terminal
from threadloom.compose.models import model_of
from threadloom.config import Settings, foreign, home, override
from threadloom.config.auth import Keyring
from threadloom.config.load import Configuration
from threadloom.config.values import OFFLINE, Config
from threadloom.exec.base import Diagnosis
from threadloom.exec.choice import diagnose
from threadloom.handshake import CODEX_VERSION
from threadloom.store import orphans, schema

State = Literal["ok", "note", "broken"]
MARKS: Final[dict[State, str]] = {"ok": "ok", "note": "--", "broken": "!!"}
UNFENCED: Final = "danger-full-access"
UNGUARDED: Final = (
    "; commands that may write have to be approved, for it can keep neither .git nor the modes and times of files "
    "outside of the workspace from being changed"
)
ROOM: Final = 1 << 20  # bytes; with less than that free, an index cannot even be begun
SHOWN: Final = 3  # of many files, the others are in what a program reads


class Finding(NamedTuple):
    """One line of what was found."""

    about: str
    state: State
    text: str
    paths: Sequence[str] = ()  # the files that it is about, all of them


def run(arguments: Namespace) -> int:
    """Print what was found; the exit code says whether a server can be used here."""
    try:
        settings = Settings(home(), dict(map(override, arguments.config)), foreign=foreign())
    except ValueError as fault:
        sys.stderr.write(f"threadloom: {fault}\n")
        return 2
    found = [*findings(settings)]
    usable = all(it.state != "broken" for it in found)
    sys.stdout.write(
        _json(found, usable) if arguments.json else _plain(found, usable) if in_terminal() else _lines(found)
    )
    return 0 if usable else 1


def _plain(found: list[Finding], usable: bool) -> str:
    width = max(len(it.about) for it in found)
    lines = [f"{MARKS[it.state]} {it.about:{width}}  {it.text}" for it in found]
    verdict = _verdict(found) if usable else "Something is broken: see the lines with !!."
    return "\n".join([*lines, verdict, ""])


def _verdict(found: list[Finding]) -> str:
    return "It can be used, but see the lines that name files." if any(it.paths for it in found) else "All is well."


def _lines(found: list[Finding]) -> str:
    return "".join(f"{it.state}\t{it.about}\t{it.text}\n" for it in found)


def _json(found: list[Finding], usable: bool) -> str:
    import json

    return json.dumps({"usable": usable, "findings": [it._asdict() for it in found]}, ensure_ascii=False) + "\n"


def findings(settings: Settings) -> Iterator[Finding]:
    """All that can be said of this machine, this home and this configuration."""
    yield from _versions()
    yield _home(settings.home)
    yield from _kept(settings.home)
    keyring = Keyring(settings.home)
    configuration = Configuration(settings, keyring)
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        folder = None
        yield Finding("folder", "broken", "the one that this runs in is gone: change to one that is there")
    yield from _configuration(configuration, folder)
    config = configuration.load(folder).config
    yield _model(config, keyring)
    yield from _sandbox(diagnose(), config.sandbox_mode)


def _versions() -> Iterator[Finding]:
    yield Finding("version", "ok", f"threadloom {__version__}, protocol of Codex {CODEX_VERSION}")
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield Finding("system", "ok", f"Python {platform.python_version()} on {system}, SQLite {sqlite3.sqlite_version}")


def _home(folder: Path) -> Finding:
    """Whether threads can be kept."""
    nearest = next(it for it in (folder, *folder.parents) if it.exists())
    if not nearest.is_dir():
        return Finding("home", "broken", f"{nearest} is no folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        return Finding("home", "broken", f"{folder} cannot be written to: nothing would be kept")
    disk = os.statvfs(nearest)
    if disk.f_bavail * disk.f_frsize < ROOM:
        return Finding("home", "broken", f"{folder} lies on a disk that is full: nothing would be kept")
    return Finding("home", "ok", f"{folder}" if nearest == folder else f"{folder} is made when it is first needed")


def _kept(home: Path) -> Iterator[Finding]:
    """What is there already, as far as it is open to who asks."""
    try:
        yield _index(home / "index.sqlite")
        yield from _orphans(home)
    except PermissionError as fault:
        yield Finding("home", "broken", f"{fault.filename} cannot be read: whose is it, and what is its mode?")


def _index(path: Path) -> Finding:
    """Whether lists can be shown from what is there; else they are made from the logs."""
    if not path.exists():
        return Finding("index", "ok", "none yet")
    try:
        db = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        try:
            (version,) = db.execute("PRAGMA user_version").fetchone()
        finally:
            db.close()
    except sqlite3.Error as fault:
        return Finding("index", "note", f"{path} cannot be read ({fault}) and is made anew from the logs")
    if version != schema.VERSION:
        return Finding("index", "note", f"version {version}, is made anew as version {schema.VERSION} from the logs")
    return Finding("index", "ok", f"version {version}")


def _orphans(home: Path) -> Iterator[Finding]:
    """What takes up space and can be reached from nowhere, and what becomes of it."""
    found = orphans.find(home)
    told = [
        _lost("logs", found.unneeded, "that nothing needs any more; the next start of a server removes them"),
        _lost("logs", found.unread, "that no thread can be made of: bring them back from a backup, or remove them"),
        _lost(
            "logs", found.damaged, "with a damaged header, which are used all the same; a backup may have them whole"
        ),
        _lost("logs", found.blocked, "that cannot be read, and are passed over: what they need is not known"),
        _lost("blobs", found.blobs, "that no log needs: while no server runs, they can be removed"),
    ]
    yield from (it for it in told if it is not None)
    if found.logs and not (found.unneeded or found.unread or found.damaged or found.blocked):
        yield Finding("logs", "ok", f"{found.logs} of them, all in use")
    if found.logs and not (found.blobs or found.blocked):
        yield Finding("blobs", "ok", "all in use")


def _lost(about: str, paths: list[str], what: str) -> Finding | None:
    if not paths:
        return None
    more = f" and {len(paths) - SHOWN} more, which --json lists" if len(paths) > SHOWN else ""
    return Finding(about, "note", f"{len(paths)} {what}: {', '.join(paths[:SHOWN])}{more}", paths)


def _configuration(configuration: Configuration, folder: str | None) -> Iterator[Finding]:
    """What of it is passed over; a key that nobody knows does no harm."""
    faults = configuration.faults(folder)
    for fault in faults:
        yield Finding("configuration", "note" if fault.unknown else "broken", str(fault))
    if not faults:
        files = [it for it in (configuration.foreign, configuration.file) if it is not None and it.exists()]
        yield Finding("configuration", "ok", ", ".join(map(str, files)) or "no file, all is as it comes")


def _model(config: Config, keyring: Keyring) -> Finding:
    """Whether a turn could be answered, as far as that can be told from here."""
    model = model_of(config)
    if model.provider == OFFLINE:
        return Finding(
            "model", "note", "the rehearsal model, which is built in and not a real one: no key, no provider"
        )
    table = config.provider
    if table is None:
        return Finding("model", "broken", f"there is no table [model_providers.{model.provider}]")
    where = f"{model.id} from {model.provider} ({table.base_url or 'on this machine'})"
    if (table.env_key or table.requires_openai_auth) and keyring.bearer(table) is None:
        how = f"set {table.env_key}" if table.env_key else "log in, or set OPENAI_API_KEY"
        return Finding("model", "broken", f"{where} has no key: {how}")
    return Finding("model", "ok", where)


def _sandbox(found: Diagnosis, mode: str) -> Iterator[Finding]:
    """What fences commands in, and what keeps the others from doing so."""
    if found.kind != "none":
        git = "" if found.guards_git else UNGUARDED
        yield Finding("sandbox", "ok", f"{found.kind}{git}")
    elif mode == UNFENCED:
        yield Finding("sandbox", "note", f"none works, and none is asked for (sandbox_mode is {UNFENCED})")
    else:
        yield Finding("sandbox", "broken", "none works: commands are refused")
    for kind, reason in found.reasons.items():
        yield Finding(kind, "note", reason)
