"""The turn as a value."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import Value
from threadloom_protocol.v2.values.errors import CodexErrorInfo, MisalignmentErrorDetails
from threadloom_protocol.v2.values.items import ThreadItem

# None of the items, the telling ones, or all.
TurnItemsView = TypeAliasType("TurnItemsView", Literal["notLoaded", "summary", "full"])


class TurnError(Value):
    """Why a turn failed, in words and for programs."""

    message: str
    codex_error_info: CodexErrorInfo | None = None
    additional_details: str | None = None
    misalignment: MisalignmentErrorDetails | None = None


TurnStatus = TypeAliasType("TurnStatus", Literal["completed", "interrupted", "failed", "inProgress"])


class Turn(Value):
    """A turn. `itemsView` says how much of `items` is there."""

    id: str
    root_turn_id: str | None = None
    items: list[ThreadItem]
    items_view: TurnItemsView = "full"
    status: TurnStatus
    error: TurnError | None = None
    started_at: int | None = None
    completed_at: int | None = None
    duration_ms: int | None = None


class TurnsPage(Value):
    """A page of turns; `backwardsCursor` leads the other way."""

    data: list[Turn]
    next_cursor: str | None = None
    backwards_cursor: str | None = None
