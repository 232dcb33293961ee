"""The conversation as it stands: events in, things to print out, and what is still in motion."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from threadloom.cli import render
from threadloom.cli.chat.paragraphs import settled
from threadloom.cli.clean import clean
from threadloom_client import Notification
from threadloom_protocol.v2 import item, roster, settings, stream, tree, turn
from threadloom_protocol.v2.values.items import AgentMessageThreadItem, FileChangeThreadItem, ReasoningThreadItem

Say = Callable[[RenderableType], None]


@dataclass
class Live:
    """An item in motion."""

    item: Any
    text: str = ""  # of a message, of reasoning, or what a command has written
    printed: int = 0  # how much of it has been printed for good


@dataclass
class Talk:
    """One thread and the agents below it, as this client has seen them."""

    say: Say
    thread_id: str = ""
    name: str | None = None
    note: str | None = None
    model: str = ""
    cwd: str = ""
    policy: str = ""
    sandbox: str = ""
    tokens: int = 0
    turn_id: str | None = None
    ended: str | None = None  # the last one
    began: float = 0.0
    closed: bool = False
    held: bool = False  # the queue stands still after an interrupt or a failure
    waiting: list[str] = field(default_factory=list)  # the queued prompts, for the eye
    live: dict[str, Live] = field(default_factory=dict)
    proposed: dict[str, FileChangeThreadItem] = field(default_factory=dict)  # by agents below, and not done yet
    nodes: dict[str, tree.ThreadTreeNode] = field(default_factory=dict)
    seqs: dict[str, int] = field(default_factory=dict)  # of this thread and of those below it

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        return self.turn_id is not None

    @property
    def agents(self) -> list[tree.ThreadTreeNode]:
        """Those below this thread that are not closed."""
        return [it for it in self.nodes.values() if it.depth and it.status not in ("shutdown", "notFound")]

    def open(self, answer: Any) -> None:
        """A thread as `thread/start`, `resume` or `fork` answers; its past comes apart, for it may be long."""
        it = answer.thread
        if it.id != self.thread_id:
            self.nodes, self.seqs, self.tokens = {}, {}, 0
        self.thread_id, self.name, self.note = it.id, it.name, it.note
        self.model, self.cwd = answer.model, answer.cwd
        self.policy = answer.approval_policy if isinstance(answer.approval_policy, str) else "granular"
        self.sandbox = answer.sandbox.type
        self.held = it.queue is not None and it.queue.paused is not None
        self.closed = False
        self.live.clear()
        self.turn_id = None

    def history(self, page: Any) -> None:
        """Show what was said before, the last turn first in its page; what still runs stays in motion."""
        if page.next_cursor is not None:
            self.say(Text(f"… earlier turns: `threadloom show {self.thread_id}`", style="dim"))
        for it in reversed(page.data):
            if it.status == "inProgress":
                self.begin(it.id)
            for each in it.items:
                if it.status == "inProgress" and each.completed_at_ms is None and each.type != "userMessage":
                    self.live[each.id] = Live(each, getattr(each, "text", "") or "")
                elif (view := render.shown(each)) is not None:
                    self.say(view)
            self._tell_end(it)

    def take(self, event: Notification[Any]) -> None:
        """One event, of this thread or of another one."""
        params = event.params
        at = getattr(params, "thread_id", None)
        if (seq := getattr(params, "seq", None)) is not None and at is not None:
            self.seqs[at] = max(seq, self.seqs.get(at, 0))
        if isinstance(params, tree.ThreadTreeChangedNotification):
            self.nodes |= {it.thread_id: it for it in params.changed}
            for gone in params.removed:
                self.nodes.pop(gone, None)
        elif at == self.thread_id:
            self._take(params)
        else:
            self._take_below(params)

    def _take_below(self, params: Any) -> None:
        """Of the agents below, only what the person may be asked about is kept."""
        match params:
            case item.ItemStartedNotification(item=FileChangeThreadItem() as it):
                self.proposed[it.id] = it
            case item.ItemCompletedNotification(item=it):
                self.proposed.pop(it.id, None)

    def aside(self, text: str) -> None:
        """What the server says that is about no thread."""
        self.say(Text(f"⋔ {clean(text)}", style="yellow"))

    def _take(self, params: Any) -> None:
        match params:
            case turn.TurnStartedNotification(turn=it):
                self.begin(it.id)
            case turn.TurnCompletedNotification(turn=it):
                self._end(it)
            case item.ItemStartedNotification(item=it):
                self.live.setdefault(it.id, Live(it))
            case item.ItemCompletedNotification(item=it):
                self._done(it)
            case turn.ThreadTokenUsageUpdatedNotification(token_usage=usage):
                self.tokens = usage.total.total_tokens
            case turn.ErrorNotification(error=error, will_retry=True):
                self.say(Text(f"{clean(error.message)}; trying again", style="yellow"))
            case turn.TurnPlanUpdatedNotification(plan=plan):
                marks = {"completed": "✓", "inProgress": "▸", "pending": "·"}
                self.say(Text("\n".join(f"{marks[it.status]} {clean(it.step)}" for it in plan)))
            case stream.BackgroundEventNotification(message=text, level=level, is_final=final):
                if final or level != "info":
                    self.say(Text(f"⋔ {clean(text)}", style="dim" if level == "info" else "yellow"))
            case roster.ThreadNameUpdatedNotification(thread_name=name):
                self.name = name
            case roster.ThreadClosedNotification():
                self.closed, self.turn_id = True, None
            case settings.ThreadSettingsUpdatedNotification(thread_settings=now):
                self.model, self.cwd = now.model, now.cwd
            case _:
                self._delta(params)

    def _delta(self, params: Any) -> None:
        text = getattr(params, "delta", None)
        it = self.live.get(getattr(params, "item_id", ""))
        if text is None or it is None:
            return
        it.text += text
        if isinstance(it.item, AgentMessageThreadItem) and "\n" in text:
            self._settle(it, it.printed + settled(it.text[it.printed :]))

    def _settle(self, it: Live, upto: int) -> None:
        """Print for good what will not change any more."""
        if it.text[it.printed : upto].strip():
            self.say(render.markdown(it.text[it.printed : upto]))
        it.printed = upto

    def begin(self, turn_id: str) -> None:
        """A turn runs, unless it has ended before its start was heard of."""
        if turn_id not in (self.turn_id, self.ended):
            self.turn_id, self.began, self.held = turn_id, time.monotonic(), False

    def _end(self, it: Any) -> None:
        for live in [*self.live.values()]:
            self._leave(live)
        self.live.clear()
        self.turn_id, self.ended, self.held = None, it.id, it.status != "completed"
        self._tell_end(it)

    def _leave(self, live: Live) -> None:
        """What was in motion when it stopped."""
        if isinstance(live.item, AgentMessageThreadItem):
            self._settle(live, len(live.text))

    def _tell_end(self, it: Any) -> None:
        if it.status == "failed":
            self.say(Text(f"■ failed: {clean(it.error.message) if it.error else 'no reason given'}", style="red"))
        elif it.status == "interrupted":
            self.say(Text("■ interrupted", style="yellow"))

    def _done(self, it: Any) -> None:
        live = self.live.pop(it.id, None)
        if (
            isinstance(it, AgentMessageThreadItem)
            and live is not None
            and it.text.startswith(live.text[: live.printed])
        ):
            live.text = it.text
            self._settle(live, len(it.text))
        elif isinstance(it, ReasoningThreadItem) and live is not None and live.text and not it.summary:
            self.say(render.reasoning(live.text))
        elif (view := render.shown(it)) is not None:
            self.say(view)
