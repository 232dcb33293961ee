"""A review: the `reviewer` at work inside a turn of a thread. It sees nothing of the conversation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Final

from threadloom.agent.base import TurnInput
from threadloom.agent.floor import Floor, Question
from threadloom.agent.history import message_item, user_item
from threadloom.agent.sampling import Item, ModelError, ToolCall
from threadloom.agent.templates.resolve import Spawn
from threadloom.events import Aside, Emission
from threadloom.ids import uuid7
from threadloom.threads import say
from threadloom.threads.answering import heed
from threadloom.threads.findings import SCHEMA, rendered
from threadloom.threads.recall import Recall
from threadloom.threads.running import Running
from threadloom.threads.thread import Thread
from threadloom_protocol.v2.item import AgentMessageDeltaNotification
from threadloom_protocol.v2.values.content import TextUserInput
from threadloom_protocol.v2.values.items import (
    AgentMessageThreadItem,
    EnteredReviewModeThreadItem,
    ExitedReviewModeThreadItem,
    UserMessageThreadItem,
)

INTERRUPTED: Final = "The review was interrupted."
FAILED: Final = "The review failed: {why}"
TOLD: Final = (
    "The user had a review done: {title}. This is what the reviewer found; the user may ask you to mend some of it."
)


class Review:
    """One review of one thread."""

    def __init__(self, thread: Thread, spawn: Spawn, title: str, prompt: str) -> None:
        self._thread = thread
        self._spawn = spawn
        self._title = title
        self._prompt = prompt
        self._history: list[Item] = []  # its own: the thread's is another
        self._kinds: list[str | None] = []  # of what it begins with
        self._said = ""

    def begin(self) -> Running:
        """Begin its turn."""
        running = self._thread.turns.launch(self._work, self._opening)
        running.steerable = False
        return running

    def _opening(self, running: Running) -> list[Emission]:
        entered = EnteredReviewModeThreadItem(id=uuid7(), review=self._title)
        asked = UserMessageThreadItem(id=uuid7(), content=[TextUserInput(text=self._prompt)])
        return [*self._whole(running, entered), *self._whole(running, asked)]

    def _whole(self, running: Running, item: Any) -> tuple[Emission, Emission]:
        return say.whole_item(self._thread.id, running.id, item, self._thread.clock())

    async def _work(self, running: Running) -> None:
        left = INTERRUPTED
        await running.once_shown()
        try:
            await self._review(running)
            left = rendered(self._said)
        except ModelError as fault:
            left = FAILED.format(why=fault)
            raise
        finally:
            exited = ExitedReviewModeThreadItem(id=uuid7(), review=left)
            self._thread.emit(*self._whole(running, exited))
        self._tell(running, left)
        await heed(self._thread, running)

    def _tell(self, running: Running, text: str) -> None:
        """Let the thread itself know what has come of it."""
        started, completed = self._whole(running, AgentMessageThreadItem(id=uuid7(), text=text))
        known = [user_item(TOLD.format(title=self._title)), message_item(text)]
        self._thread.emit(started, completed._replace(model=known))

    async def _review(self, running: Running) -> None:
        known = Recall()
        known.take(0, [*self._thread.briefing.anew(running.rules), user_item(self._prompt)])
        self._history, self._kinds = known.items, known.kinds
        async with aclosing(self._thread.agent.run(self._turn(running))) as batches:
            async for batch in batches:
                self._thread.emit(*self.shown(batch))

    def _turn(self, running: Running) -> TurnInput:
        """The turn of a reviewer: it works alone, and changes nothing."""
        spawn, turn = self._spawn, self._thread.briefing.turn(running)
        assert turn.settings is not None
        assert turn.floor is not None
        turn.history, turn.kinds = lambda: self._history, lambda: self._kinds
        turn.output_schema = SCHEMA
        turn.instructions = [spawn.prompt] if spawn.prompt else turn.instructions
        turn.model, turn.provider, turn.effort = spawn.model, spawn.model_provider, spawn.reasoning_effort
        turn.settings = turn.settings.model_copy(update={"sandbox_policy": spawn.sandbox})
        turn.read_only = turn.read_only or spawn.policy.read_only
        turn.compaction = turn.goals = turn.tree = None
        turn.tools = {name: it for name, it in turn.tools.items() if spawn.policy.permits(name) and _alone(it)}
        turn.floor = Screen(turn.floor, self)
        return turn

    def shown(self, batch: Sequence[Emission | Aside]) -> Iterator[Emission]:
        """What clients see of its work: all but its words, which are for this room alone."""
        for it in batch:
            self._history += it.model or ()
            if isinstance(it, Emission) and not self._hears(it.event):
                yield it._replace(model=None)

    def _hears(self, event: Any) -> bool:
        item = getattr(event, "item", None)
        if isinstance(item, AgentMessageThreadItem):
            self._said = item.text
        return isinstance(event, AgentMessageDeltaNotification) or isinstance(item, AgentMessageThreadItem)


def _alone(tool: Any) -> bool:
    """Whether a tool needs nobody else: neither agents, nor a person, nor a goal."""
    from threadloom.agent.collab.tool import Collaboration
    from threadloom.agent.tools import asking
    from threadloom.threads.goals import TOOLS

    return not isinstance(tool, Collaboration) and tool.name not in (*TOOLS, asking.NAME)


class Screen:
    """The floor of a review: what its tools tell the model stays with the reviewer. See `agent.floor.Floor`."""

    def __init__(self, floor: Floor, review: Review) -> None:
        self._floor = floor
        self._review = review

    def emit(self, *batch: Emission | Aside) -> None:
        """See `Floor.emit`."""
        if shown := list(self._review.shown(batch)):
            self._floor.emit(*shown)

    def item_id(self, call: ToolCall) -> str:
        """See `Floor.item_id`."""
        return self._floor.item_id(call)

    async def ask(self, call: ToolCall, question: Question) -> Any:
        """See `Floor.ask`."""
        return await self._floor.ask(call, question)

    def item_count(self) -> int:
        """See `Floor.item_count`."""
        return self._floor.item_count()

    def asked(self, call: ToolCall) -> bool:
        """See `Floor.asked`."""
        return self._floor.asked(call)

    def allows(self, keys: Sequence[str]) -> bool:
        """See `Floor.allows`."""
        return self._floor.allows(keys)

    def allow(self, keys: Sequence[str]) -> None:
        """See `Floor.allow`."""
        self._floor.allow(keys)

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        """See `Floor.spawn`."""
        self._floor.spawn(work, *args)

    def stop(self) -> None:
        """See `Floor.stop`."""
        self._floor.stop()
