"""The history of a thread: read in pages, added to, cut short, condensed."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import Params, Recorded, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest, ServerNotification
from threadloom_protocol.v2.values.common import SortDirection
from threadloom_protocol.v2.values.items import ThreadItem
from threadloom_protocol.v2.values.threads import Thread
from threadloom_protocol.v2.values.turns import Turn, TurnItemsView


class ThreadTurnsListParams(Params):
    """Read the turns of a thread page by page, the latest first unless told otherwise.

    `itemsView` says how much of each.
    """

    thread_id: str
    cursor: str | None = None
    limit: UInt | None = None
    sort_direction: SortDirection | None = None
    items_view: TurnItemsView | None = None


class ThreadTurnsListResponse(Result):
    """A page of turns; `backwardsCursor` leads the other way."""

    data: list[Turn]
    next_cursor: str | None = None
    backwards_cursor: str | None = None


class ItemThreadItemsListAnchor(Value):
    """Begin beside this item, without it."""

    type: Literal["item"] = "item"
    item_id: str


ThreadItemsListAnchor = TypeAliasType("ThreadItemsListAnchor", ItemThreadItemsListAnchor)


ThreadItemsListCursor = TypeAliasType("ThreadItemsListCursor", str | ThreadItemsListAnchor)


class ThreadItemsListParams(Params):
    """Read the items of a thread, or of one turn, page by page, the oldest first unless told otherwise."""

    thread_id: str
    turn_id: str | None = None
    cursor: ThreadItemsListCursor | None = None
    limit: UInt | None = None
    sort_direction: SortDirection | None = None


class ThreadItemEntry(Value):
    """An item and the turn it belongs to."""

    turn_id: str
    item: ThreadItem
    started_at_ms: int | None = None
    completed_at_ms: int | None = None


class ThreadItemsListResponse(Result):
    """A page of items; `backwardsCursor` leads the other way."""

    data: list[ThreadItemEntry]
    next_cursor: str | None = None
    backwards_cursor: str | None = None


class ThreadInjectItemsParams(Params):
    """Put raw model items into the history of a thread without starting a turn. They go to the model as they are."""

    thread_id: str
    items: list[Any]


class ThreadInjectItemsResponse(Result):
    """Done."""


class ThreadRevertParams(Params):
    """Take a turn and all later ones out of the history of a thread. Files stay as they are."""

    thread_id: str
    before_turn_id: str


class ThreadRevertResponse(Result):
    """The thread as it now is, with cursors to what is left."""

    thread: Thread
    turns_backwards_cursor: str | None = None
    items_backwards_cursor: str | None = None


class ThreadCompactStartParams(Params):
    """Condense what the model sees of a thread into a summary. Runs as a turn; the history itself keeps everything."""

    thread_id: str


class ThreadCompactStartResponse(Result):
    """Under way."""


class ThreadRevertedNotification(Recorded):
    """The end of the history of a thread was taken back; read it anew."""

    thread_id: str


TURNS = ClientRequest("thread/turns/list", ThreadTurnsListParams, ThreadTurnsListResponse)
ITEMS = ClientRequest("thread/items/list", ThreadItemsListParams, ThreadItemsListResponse)
INJECT = ClientRequest("thread/inject_items", ThreadInjectItemsParams, ThreadInjectItemsResponse)
REVERT = ClientRequest("thread/revert", ThreadRevertParams, ThreadRevertResponse)
COMPACT = ClientRequest("thread/compact/start", ThreadCompactStartParams, ThreadCompactStartResponse)
REVERTED = ServerNotification("thread/reverted", ThreadRevertedNotification)
