"""What the model of a thread is told, and a turn as its agent sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from threadloom.agent.base import TurnInput
from threadloom.agent.sampling import Usage
from threadloom.agent.tools import asking
from threadloom.events import Aside, Emission
from threadloom.threads import goals, say
from threadloom.threads.context.additional import Additional, unheard
from threadloom.threads.context.rules import Rules
from threadloom.threads.context.telling import Surroundings
from threadloom.threads.inputs import Content, Files, taken
from threadloom.threads.requests import Desk
from threadloom_protocol.v2.settings import ThreadSettings
from threadloom_protocol.v2.turn import ThreadTokenUsage

if TYPE_CHECKING:
    from threadloom.agent.base import Tool
    from threadloom.threads.running import Running
    from threadloom.threads.thread import Thread


class Briefing:
    """Of one thread."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._surroundings = Surroundings()

    def sources(self) -> list[str]:
        """The files that its instructions come from."""
        return self._surroundings.sources(self._thread.state.rest.settings, self._thread.rules)

    def news(self, rules: Rules, settings: ThreadSettings) -> list[Aside]:
        """What the model has to be told before it reads on."""
        news = self._surroundings.news(settings, rules, self._thread.recall.told, self._thread.clock())
        return [Aside(news)] if news else []

    def anew(self, rules: Rules) -> list[dict[str, Any]]:
        """The same, for a model that knows nothing yet."""
        return self._surroundings.news(self._thread.state.rest.settings, rules, None, self._thread.clock())

    def heard(
        self,
        turn_id: str,
        content: Content,
        files: Files,
        client_id: str | None,
        beside: Additional,
        *,
        by_parent: bool,
    ) -> list[Emission | Aside]:
        """What is said in a turn, behind what its client adds where the model does not know that yet."""
        new = unheard(beside, self._thread.recall)
        added = [Aside(new)] if new else []
        if not content:
            return [*added]
        item, read = taken(content, files, client_id, by_parent=by_parent)
        started, completed = say.whole_item(self._thread.id, turn_id, item, self._thread.clock())
        return [*added, started, completed._replace(model=read)]

    def turn(self, running: Running) -> TurnInput:
        """A turn, as the agent sees it."""
        thread, rules, opened = self._thread, running.rules, self._thread.state.turn
        rest, settings = thread.state.rest, thread.state.rest.settings
        told = (
            rest.base_instructions or rules.base_instructions,
            rest.developer_instructions or rules.developer_instructions,
        )
        if thread.policy.read_only:  # whatever it was set to since
            settings = settings.model_copy(update={"sandbox_policy": thread.policy.sandbox(settings.sandbox_policy)})
        if opened is not None and opened.service_tier is not None:
            settings = settings.model_copy(update={"service_tier": opened.service_tier})
        return TurnInput(
            thread_id=thread.id,
            turn_id=running.id,
            model=settings.model,
            provider=settings.model_provider,
            effort=settings.effort,
            cwd=settings.cwd,
            history=thread.history,
            kinds=lambda: thread.recall.kinds,
            steering=running.steering,
            instructions=[it for it in told if it],
            output_schema=opened.schema if opened is not None else None,
            tools=self._tools(),
            summary=settings.summary,
            total_usage=_usage(rest.usage),
            verbosity=rules.verbosity,
            context_window=rules.context_window,
            output_tokens=rules.output_tokens,
            compaction=running.compaction,
            goals=None if rest.thread.ephemeral else thread.goals,
            settings=settings,
            floor=Desk(thread, running),
            terminals=thread.terminals,
            tree=None if thread.ground.branch is None else thread.ground.branch(thread.id),
            read_only=thread.policy.read_only,
            origin=thread.ground.origin(thread.id),
        )

    def _tools(self) -> dict[str, Tool]:
        """Those that it may use."""
        thread, missing = self._thread, self._missing()
        return {
            name: tool
            for name, tool in thread.ground.tools.items()
            if thread.policy.permits(name) and name not in missing
        }

    def _missing(self) -> set[str]:
        """One that is not kept has no goal; where nobody is asked, it asks nothing but what it has asked already."""
        rest = self._thread.state.rest
        unasked = {asking.NAME} - {it.name for it in self._thread.requests.calls}
        return (set(goals.TOOLS) if rest.thread.ephemeral else set()) | (
            set() if asking.somebody_answers(rest.settings.approval_policy) else unasked
        )


def _usage(usage: ThreadTokenUsage | None) -> Usage:
    if usage is None:
        return Usage()
    total = usage.total
    return Usage(total.input_tokens, total.cached_input_tokens, total.output_tokens, total.reasoning_output_tokens)
