"""Saved sessions: a name for a thread at a point, recorded in that thread's own log."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from threadloom.events import Aside, Emission
from threadloom.log import logger
from threadloom.store.base import StoreError
from threadloom.store.rows import SavedRow
from threadloom.store.saved import SavedNames, Session
from threadloom.threads import frozen, say
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidParams, InvalidRequest
from threadloom_protocol.v2 import session as room
from threadloom_protocol.v2.session import SavedSession, SessionMoved
from threadloom_protocol.v2.values.threads import Thread as View

if TYPE_CHECKING:
    from threadloom.threads.manager import Manager

log = logger(__name__)

MAX_NAME: Final = 100  # characters
MIN_PREFIX: Final = 8  # characters of an id that may stand for all of it
NEAREST: Final = 5  # candidates that an error lists


class Meant(NamedTuple):
    """What somebody meant with a name or an id."""

    thread_id: str
    saved: SavedRow | None  # where it was a name, or the thread has one
    by_name: bool


class Sessions:
    """The saved sessions of a home."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    @property
    def _names(self) -> SavedNames:
        return self._manager.durable.index.saved

    # ── saving ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def save(self, thread_id: str, name: str) -> SavedSession:
        """Give a thread a name as it is now. On the disk when this returns."""
        check_name(name)
        await self._manager.settled()
        self._saveable(thread_id)
        thread = self._manager.get(thread_id)
        await thread.ended()
        await thread.sync()
        await self._manager.settled()
        self._saveable(thread_id)
        thread = self._manager.get(thread_id)
        at = max([self._manager.clock(), *(it.at + 1 for it in self._names.all(name))])
        saved, show = self._record(thread, name, at)
        try:
            await thread.sync()
            await self._manager.settled()
        finally:
            show()
        for it in self._names.all(name):  # somebody else may have given it away meanwhile: then that one counts
            if (it.at, it.thread_id) < (at, thread_id) and not it.deleted:
                await self._forget(it)
        return saved

    def _saveable(self, thread_id: str) -> None:
        row = self._manager.row(thread_id)
        if self._manager.ephemeral(thread_id):
            raise InvalidRequest(f"thread {thread_id} is ephemeral and cannot be saved")
        if row.archived:
            raise InvalidRequest(f"thread {thread_id} is archived; unarchive it first")

    def _record(self, thread: Thread, name: str, at: int) -> tuple[SavedSession, Callable[[], None]]:
        """From here on nothing waits: the point, what it is frozen with and its record are of one moment."""
        thread.emit()  # what is owed to the log goes first
        known = thread.state.rest.thread
        named = [] if known.name else [say.named(thread.id, name)]
        view = known.model_copy(update={"name": known.name or name})
        point = SavedRow(thread.id, name, thread.seq + len(named) + 1, 0, at, "")
        saved = _shown(point, view, known.path)
        event = room.SessionSavedNotification(thread_id=thread.id, session=saved)
        mark = frozen.mark(thread, name, view.name, at)
        return saved, thread.quietly(*named, Emission(room.SAVED, event, [mark]))

    async def delete(self, name: str) -> None:
        """Forget a name. Its thread stays; what was only kept for the name goes."""
        saved = self._names.get(name)
        if saved is None:
            raise self._unknown(f"no session is saved as `{name}`", name, ids=False)
        for it in reversed(self._names.all(name)):  # the one that counts comes last
            if it == saved:
                self._unsave(it, told=True)
                await self._manager.settled()
                self._manager.durable.sweep(it.thread_id)
            elif not it.deleted:
                await self._forget(it)
        await self._manager.settled()

    async def _forget(self, saved: SavedRow) -> None:
        """A name means something else now: its thread need not say it any more. One that another process has may."""
        try:
            self._unsave(saved, told=False)
            await self._manager.settled()
            self._manager.durable.sweep(saved.thread_id)
            await self._manager.settled()
        except StoreError as fault:
            log.info("a thread keeps a name that it has lost", thread=saved.thread_id, reason=str(fault))

    def _unsave(self, saved: SavedRow, *, told: bool) -> None:
        mark = {"@": "unsaved", "name": saved.name, "at": saved.at}
        event = room.SessionDeletedNotification(thread_id=saved.thread_id, name=saved.name)
        with self._manager.logs.writing(saved.thread_id) as journal:
            if told or any(it.seq == saved.seq for it in journal.state.rest.thread.saved_as):  # else it has it anew
                journal.emit(Emission(room.DELETED, event, [mark]) if told else Aside([mark]))

    # ── finding ───────────────────────────────────────────────────────────────────────────────────────────────────

    def find(self, text: str, *, by_id: bool = False) -> Meant:
        """What a saved name, an id or the beginning of an id means. Raises `InvalidRequest`, with what is near."""
        saved = None if by_id else self._names.get(text)
        if saved is not None:
            return Meant(saved.thread_id, saved, by_name=True)
        lower = text.lower()
        if self._manager.exists(lower) or self._names.of(lower):
            return self._thread(lower)
        ids = self._names.beginning(lower, NEAREST + 1) if len(lower) >= MIN_PREFIX else []
        if len(ids) > 1:
            more = ", …" if len(ids) > NEAREST else ""
            raise InvalidRequest(f"`{text}` may be any of these threads: {', '.join(ids[:NEAREST])}{more}")
        if not ids:
            what = "thread" if by_id else "saved session or thread"
            raise self._unknown(f"there is no {what} `{text}`", text, names=not by_id)
        return self._thread(ids[0])

    def _thread(self, thread_id: str) -> Meant:
        return Meant(thread_id, next(iter(self._names.of(thread_id)), None), by_name=False)

    def _unknown(self, what: str, text: str, *, names: bool = True, ids: bool = True) -> InvalidRequest:
        from difflib import get_close_matches  # only for one who has mistyped

        near = get_close_matches(text, self._names.names(), NEAREST, 0.5) if names else []
        near += self._names.beside(text.lower())[: NEAREST - len(near)] if ids and _like_id(text) else []
        return InvalidRequest(f"{what}; did you mean {' or '.join(f'`{it}`' for it in near)}?" if near else what)

    def there(self, meant: Meant) -> str:
        """The thread that somebody meant, where it still exists."""
        if not self._manager.exists(meant.thread_id):
            name = meant.saved.name if meant.saved else ""
            raise InvalidRequest(
                f"thread {meant.thread_id} is gone: it was deleted; "
                f"`session/fork` still starts from what was saved as `{name}`"
            )
        return meant.thread_id

    def moved(self, meant: Meant) -> SessionMoved | None:
        """How far a thread has gone on since it was saved under the name that was meant."""
        saved = meant.saved
        if saved is None or not meant.by_name:
            return None
        turns = self._manager.durable.index.turns(saved.thread_id, after=saved.seq)
        return SessionMoved(turns=len(turns), seq=max(0, self._manager.shown(saved.thread_id) - saved.seq))

    def fork(self, saved: SavedRow, **birth: Any) -> Thread:
        """A new thread that goes on from a saved point."""
        return self._manager.start(frozen.birth(self._manager.durable, saved, **birth))

    # ── showing ───────────────────────────────────────────────────────────────────────────────────────────────────

    def page(self, limit: int, after: tuple[int, str] | None) -> tuple[list[SavedSession], tuple[int, str] | None]:
        """Saved sessions, the latest first, and where the next page begins."""
        found = self._names.page(limit + 1, after)
        last = found[limit - 1].row if len(found) > limit else None
        return [self._show(it) for it in found[:limit]], (last.at, last.name) if last else None

    def _show(self, it: Session) -> SavedSession:
        return _shown(it.row, View.model_validate(orjson.loads(it.thread)), it.path)


def _shown(row: SavedRow, thread: View, path: str | None) -> SavedSession:
    return SavedSession(
        name=row.name,
        thread_id=row.thread_id,
        seq=row.seq,
        saved_at=row.at // 1000,
        created_at=thread.created_at,
        updated_at=thread.updated_at,
        cwd=thread.cwd,
        model=thread.model,
        path=path,
    )


def check_name(name: str) -> None:
    """Raise where this is no name for a session."""
    if not 1 <= len(name) <= MAX_NAME:
        raise InvalidParams(f"a name must have 1 to {MAX_NAME} characters, not {len(name)}")
    if any(unicodedata.category(it) in ("Cc", "Zl", "Zp", "Cs") for it in name):
        raise InvalidParams("a name must have no control characters")
    if name.startswith("-"):
        raise InvalidParams("a name must not start with `-`: commands would take it for an option")
    if not name.strip():
        raise InvalidParams("a name must not be blank")


def _like_id(text: str) -> bool:
    return len(text) >= 4 and all(it in "0123456789abcdef-" for it in text.lower())
