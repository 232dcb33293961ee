"""`view_image`: the model looks at a picture on this machine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from anyio import to_thread

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.pictures import picture, place, reason
from threadloom.agent.sampling import Item, ToolCall
from threadloom.agent.tools.base import parsed, refused
from threadloom.agent.tools.spec import function, text
from threadloom.events import Emission
from threadloom.ids import uuid7
from threadloom_protocol.model import Snake
from threadloom_protocol.v2 import item
from threadloom_protocol.v2.values.items import ImageViewThreadItem


class View(Snake):
    """The arguments of `view_image`."""

    path: str


class ViewImage:
    """Puts a picture in front of the model. Every file may be read, so nobody is asked."""

    name = "view_image"

    def spec(self) -> Item:
        """As the model is told of it."""
        return _SPEC

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Read it, and show the person which one it is."""
        asked = parsed(View, call)
        if isinstance(asked, ToolResult):
            return asked
        path = place(asked.path, turn.cwd)
        try:
            url = await to_thread.run_sync(picture, path)
        except (OSError, ValueError) as fault:
            return refused(f"The image {path} cannot be read: {reason(fault)}.")
        shown = {"type": "input_image", "image_url": url, "detail": "high"}
        return ToolResult(f"The image {path}:", _told(turn, path), pictures=[shown])


def _told(turn: TurnInput, path: Path) -> list[Emission]:
    now = time.time_ns() // 1_000_000
    where: dict[str, Any] = {"thread_id": turn.thread_id, "turn_id": turn.turn_id}
    seen = ImageViewThreadItem(id=uuid7(), path=str(path))
    return [
        Emission(item.STARTED, item.ItemStartedNotification(item=seen, started_at_ms=now, **where)),
        Emission(item.COMPLETED, item.ItemCompletedNotification(item=seen, completed_at_ms=now, **where)),
    ]


_SPEC: Final = function(
    "view_image",
    "Look at a picture on this machine: PNG, JPEG, GIF or WebP.",
    {"path": text("Where it is; relative to the thread's folder.")},
    "path",
)
