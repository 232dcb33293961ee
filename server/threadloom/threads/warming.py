"""The shapes that a first turn needs, built while nobody waits: each is a millisecond or several."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from threadloom_protocol.model import Wire
from threadloom_protocol.v2.item import (
    AgentMessageDeltaNotification,
    ItemCompletedNotification,
    ItemStartedNotification,
)
from threadloom_protocol.v2.roster import ThreadStatusChangedNotification
from threadloom_protocol.v2.turn import (
    ThreadTokenUsageUpdatedNotification,
    TurnCompletedNotification,
    TurnStartedNotification,
    TurnStartParams,
    TurnStartResponse,
)
from threadloom_protocol.v2.values.items import AgentMessageThreadItem, UserMessageThreadItem
from threadloom_protocol.v2.values.status import ActiveThreadStatus
from threadloom_protocol.v2.values.turns import Turn

_TURN: Final[tuple[type[Wire], ...]] = (
    TurnStartParams,
    UserMessageThreadItem,
    ItemStartedNotification,
    ItemCompletedNotification,
    Turn,
    TurnStartedNotification,
    ActiveThreadStatus,
    ThreadStatusChangedNotification,
    TurnStartResponse,
    AgentMessageThreadItem,
    AgentMessageDeltaNotification,
    ThreadTokenUsageUpdatedNotification,
    TurnCompletedNotification,
)


async def warm(pause: Callable[[], Awaitable[None]], *shapes: type[Wire]) -> None:
    """Build shapes, those of a turn where none are named; in the pauses others go first."""
    for it in shapes or _TURN:
        await pause()
        it.model_rebuild()
