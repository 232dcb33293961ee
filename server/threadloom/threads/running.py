"""A turn under way: what is known of it while it runs, and what may still be decided."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from threadloom.agent.steering import Steering
from threadloom.flag import Flag
from threadloom.threads.compaction import Compaction
from threadloom.threads.context.rules import Rules


class Running:
    """A turn under way."""

    def __init__(self, turn_id: str, rules: Rules, compaction: Compaction) -> None:
        self.id = turn_id
        self.rules = rules
        self.compaction = compaction
        self.goes_on = True  # with another turn, where there is a goal
        self.by_user = False  # it was the user who ended it
        self.scope = anyio.CancelScope()
        self.steering = Steering()
        self.shown = Flag()  # whoever asked for it has its answer, and all that was held is shown
        self.held: Callable[[], None] | None = None  # shows those that do not yet
        self.steerable = True  # what a person says may join it
        self.suspended = False  # it stops here, and goes on in another life of the server
        self.done = Flag()  # it has ended, and its end is on the disk

    def show(self) -> None:
        """Whoever asked for it has the answer: events follow."""
        self.reveal()
        self.shown.set()

    async def once_shown(self) -> None:
        """Wait for that. No pause where it was long ago: a turn that is told to end may be at its last step."""
        if not self.shown.is_set():
            await self.shown.wait()

    def reveal(self) -> None:
        """Show what was held until its asker had the answer."""
        show, self.held = self.held, None
        if show is not None:
            show()

    def stop(self, *, by_user: bool = False) -> None:
        """Let it end, and no other follow by itself."""
        self.goes_on = False
        self.by_user |= by_user
        self.scope.cancel()
