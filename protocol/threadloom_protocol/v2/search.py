"""Finding threads: lists with filters, and text."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import EXPERIMENTAL, Params, Result, UInt, Value
from threadloom_protocol.spec import ClientRequest
from threadloom_protocol.v2.values.common import SortDirection
from threadloom_protocol.v2.values.sources import ThreadSourceKind
from threadloom_protocol.v2.values.threads import Thread, ThreadReadState

# One directory, or several.
ThreadListCwdFilter = TypeAliasType("ThreadListCwdFilter", str | list[str])


ThreadSortKey = TypeAliasType("ThreadSortKey", Literal["created_at", "updated_at", "recency_at", "section_position"])


class ThreadListParams(Params):
    """List threads that are stored, page by page, the newest first unless told otherwise.

    Without `sourceKinds`, those that a person started. In a list of such, one that was opened and left, with no turn
    and no name, does not appear. `parentThreadId` asks for children, `ancestorThreadId` for descendants at any depth.
    `searchTerm` looks at titles and names; for everything said use `thread/search`.
    """

    cursor: str | None = None
    limit: UInt | None = None
    excluded_thread_ids: list[str] | None = None
    sort_key: ThreadSortKey | None = None
    sort_direction: SortDirection | None = None
    model_providers: list[str] | None = None
    source_kinds: list[ThreadSourceKind] | None = None
    originators: list[str] | None = None
    archived: bool | None = None
    section_id: str | None = None
    project_id: Annotated[str | None, EXPERIMENTAL] = None
    cwd: ThreadListCwdFilter | None = None
    use_state_db_only: bool = False
    search_term: str | None = None
    parent_thread_id: Annotated[str | None, EXPERIMENTAL] = None
    ancestor_thread_id: Annotated[str | None, EXPERIMENTAL] = None
    attached_to_thread_id: Annotated[str | None, EXPERIMENTAL] = None


class ThreadListResponse(Result):
    """A page of threads, without their turns; `backwardsCursor` leads the other way."""

    data: list[Thread]
    read_states: Annotated[dict[str, ThreadReadState] | None, EXPERIMENTAL] = None
    next_cursor: str | None = None
    backwards_cursor: str | None = None


ThreadSearchSortKey = TypeAliasType("ThreadSearchSortKey", Literal["created_at", "updated_at", "recency_at"])


class ThreadSearchParams(Params):
    """Find threads by what was said in them: these words, one behind the other. The last may be a beginning."""

    cursor: str | None = None
    limit: UInt | None = None
    sort_key: ThreadSearchSortKey | None = None
    sort_direction: SortDirection | None = None
    source_kinds: list[ThreadSourceKind] | None = None
    archived: bool | None = None
    search_term: str


class ThreadSearchResult(Value):
    """A thread, and the words around a match."""

    thread: Thread
    snippet: str


class ThreadSearchResponse(Result):
    """A page of matches; `backwardsCursor` leads the other way."""

    data: list[ThreadSearchResult]
    next_cursor: str | None = None
    backwards_cursor: str | None = None


class ThreadSearchOccurrencesParams(Params):
    """Find every place in one thread where something was said, letter by letter, in whatever case."""

    thread_id: str
    search_term: str
    cursor: str | None = None
    limit: UInt | None = None


class ThreadSearchTextRange(Value):
    """Where in a snippet the match is, in UTF-16 code units."""

    start: UInt
    end: UInt


class ThreadSearchOccurrence(Value):
    """One place, and how to read the turns around it."""

    turn_id: str
    item_id: str
    snippet: str
    snippet_match_range: ThreadSearchTextRange
    turn_cursor: str


class ThreadSearchOccurrencesResponse(Result):
    """A page of places."""

    data: list[ThreadSearchOccurrence]
    next_cursor: str | None = None


LIST = ClientRequest("thread/list", ThreadListParams, ThreadListResponse)
SEARCH = ClientRequest("thread/search", ThreadSearchParams, ThreadSearchResponse, experimental=True)
OCCURRENCES = ClientRequest(
    "thread/searchOccurrences",
    ThreadSearchOccurrencesParams,
    ThreadSearchOccurrencesResponse,
    experimental=True,
)
