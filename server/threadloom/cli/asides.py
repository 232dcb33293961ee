"""What a server says beside its answers: what it passes over, what takes long, what is not all there yet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio

from threadloom_client import Client, Disconnected, Subscription
from threadloom_protocol.v2.config import CONFIG_WARNING, WARNING, ConfigWarningNotification, WarningNotification
from threadloom_protocol.v2.stream import BACKGROUND, BackgroundEventNotification

Aside = Callable[[str], None]

PARTIAL: Final = "Until that is done, not all threads are found."


@asynccontextmanager
async def heard(client: Client, tell: Aside, *, partial: bool) -> AsyncIterator[None]:
    """Tell of it until the block ends; `partial`: this server answers before its index is whole."""
    fault = None
    async with anyio.create_task_group() as tasks:
        with client.notifications(CONFIG_WARNING, WARNING, BACKGROUND) as events:
            tasks.start_soon(_listen, events, tell, partial)
            try:
                yield
            except Exception as raised:
                fault = raised
    if fault is not None:
        raise fault  # by itself, and not in a group: others look at what it is


async def _listen(events: Subscription[Any], tell: Aside, partial: bool) -> None:
    with suppress(Disconnected):  # which whoever asks for something hears of
        async for event in events:
            if text := _told(event.params, partial):
                tell(text)


def _told(params: Any, partial: bool) -> str | None:
    match params:
        case ConfigWarningNotification(summary=summary, details=details):
            return details or summary
        case WarningNotification(message=text):
            return text
        case BackgroundEventNotification(thread_id=None, message=text, is_final=final):
            return f"{text} {PARTIAL}" if partial and not final else text
        case _:
            return None  # what is about a thread is told by those who follow it
