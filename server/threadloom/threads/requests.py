"""What a thread has asked its clients: stored with the thread, the same over reconnects and restarts, answered once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import orjson

from threadloom.agent.floor import Question
from threadloom.agent.sampling import ToolCall
from threadloom.events import Aside, Emission
from threadloom.ids import uuid7
from threadloom.log import logger
from threadloom.store.errors import StoreError
from threadloom.threads import say
from threadloom.threads.questions import Open
from threadloom.threads.resting import Asked
from threadloom_protocol.v2 import V2

if TYPE_CHECKING:
    from threadloom.threads.running import Running
    from threadloom.threads.thread import Thread
    from threadloom_protocol.model import Result

log = logger(__name__)


class Wait:
    """A question, and the answer that somebody in this process waits for, or soon will."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.answered = anyio.Event()
        self.result: Result | None = None


class Requests:
    """The questions of one thread. What is open is in the thread's state; here is who waits for it."""

    def __init__(self, thread: Thread, patience: Callable[[], float]) -> None:
        self._thread = thread
        self._patience = patience  # seconds that a question waits for its answer
        self._waits: dict[str, Wait] = {}  # by the id of the request

    @property
    def open(self) -> dict[str, Asked]:
        """What was asked and not answered yet, by the id of the request."""
        return self._thread.state.rest.pending

    @property
    def waiting(self) -> set[str]:
        """The items that wait for an answer."""
        return {it.item_id for it in self.open.values()}

    @property
    def calls(self) -> list[Asked.Call]:
        """The calls of tools that do."""
        return [it.call for it in self.open.values()]

    def of_call(self, call_id: str) -> Asked | None:
        """What was asked for a call of a tool; it may be answered already."""
        return next((it.asked for it in self._waits.values() if it.asked.call.call_id == call_id), None)

    def put_again(self) -> None:
        """The thread was loaded: whoever follows it is asked what is still open."""
        for it in self.open.values():
            self._waits[it.id] = Wait(it)  # an answer may come before the call has been taken up again
            self._thread.hub.ask(self._thread.id, it.id, self._shown(it))

    async def ask(self, call: ToolCall, question: Question) -> Any:
        """The answer to a question: of a client, or the refusal where none comes in time."""
        asked = self.of_call(call.call_id) or self._put(call, question)
        wait = self._waits[asked.id]
        left = self._patience() - (self._thread.clock() - asked.at) / 1000
        try:
            with anyio.move_on_after(max(0.0, left)):
                await wait.answered.wait()
            if asked.id not in self.open and wait.result is None:
                return question.refusal  # the turn that it was asked in is over
            if wait.result is None:  # nobody has decided, or nobody can
                wait.answered = anyio.Event()
                self.answer(asked.id, question.refusal)
                await wait.answered.wait()
        finally:
            self._waits.pop(asked.id, None)
        return wait.result

    def _put(self, call: ToolCall, question: Question) -> Asked:
        asked = Asked(
            id=uuid7(),
            method=question.request.method,
            params=orjson.loads(question.params.to_json()),
            call=Asked.Call(
                call_id=call.call_id, name=call.name, arguments=call.arguments, freeform=call.freeform or None
            ),
            item_id=question.params.item_id,  # type: ignore[attr-defined]
            flag=question.flag,
            at=self._thread.clock(),
        )
        mark = {"@": "asked", **orjson.loads(asked.to_json())}
        flags = say.flags([*self.open.values(), asked])
        status = [] if self.open and flags == say.flags(self.open.values()) else [say.active(self._thread.id, flags)]
        self._thread.emit(*status, _marked(question.started, mark))
        self._waits[asked.id] = Wait(asked)
        self._thread.once_shown(lambda: self._offer(asked))
        return asked

    def _offer(self, asked: Asked) -> None:
        """Put it to the clients, unless it is of no interest any more."""
        if asked.id in self.open:
            self._thread.hub.ask(self._thread.id, asked.id, self._shown(asked))

    def _shown(self, asked: Asked) -> Open:
        return Open(asked.method, orjson.dumps(asked.params))

    # ── answers ───────────────────────────────────────────────────────────────────────────────────────────────────

    def answer(self, request_id: str, result: Result) -> None:
        """Take the answer to what is open: it is stored before anything comes of it. The next one comes too late."""
        show = self._thread.quietly(*self._resolved([self.open[request_id]], orjson.loads(result.to_json())))
        wait = self._waits.get(request_id)
        if wait is not None:
            wait.result = result
        self._thread.hub.withdraw(self._thread.id, request_id)
        self._thread.spawn(self._settle, show, wait)

    async def _settle(self, show: Any, wait: Wait | None) -> None:
        """An answer is acknowledged once it is on the disk."""
        try:
            await self._thread.sync()
        except StoreError as fault:  # it is written, and the next sync may succeed
            log.error("an answer may not be on the disk", thread=self._thread.id, reason=str(fault))
        show()
        if wait is not None:
            wait.answered.set()

    def take_back(self, call: ToolCall) -> None:
        """Whoever has asked for this has gone: nobody needs to answer any more."""
        asked = [it for it in self.open.values() if it.call.call_id == call.call_id]
        if asked:
            self._thread.emit(*self._resolved(asked, None))
        for it in asked:
            self._thread.hub.withdraw(self._thread.id, it.id)

    def refuse(self, request_id: str) -> None:
        """Nobody who was asked can decide."""
        if (wait := self._waits.get(request_id)) is not None:
            wait.answered.set()

    def read(self, request_id: str, result: Any) -> Result:
        """An answer in the shape that its request declares. Raises `ValueError`."""
        made: Result = V2.server_requests[self.open[request_id].method].result.model_validate(result)
        return made

    def dropped(self) -> list[Emission]:
        """What tells that nobody needs to answer any more: the turn is over."""
        self._waits = {it: wait for it, wait in self._waits.items() if it in self.open}
        return self._resolved(list(self.open.values()), None, quiet=True)

    def release(self) -> None:
        """Whoever waits for an answer all the same, in a turn of another thread, gets the refusal."""
        for wait in self._waits.values():
            wait.answered.set()
        self._waits = {}

    def _resolved(self, asked: Sequence[Asked], answer: Any, *, quiet: bool = False) -> list[Emission]:
        told = [say.resolved(self._thread.id, it.id, answer) for it in asked]
        left = [it for it in self.open.values() if it not in asked]
        flags = say.flags(left)
        if quiet or (left and flags == say.flags(self.open.values())):
            return told
        return [*told, say.active(self._thread.id, flags)]


def _marked(started: Emission | None, mark: dict[str, Any]) -> Emission | Aside:
    """A question is stored with the item that it is about, or by itself."""
    return Aside([mark]) if started is None else started._replace(model=[*(started.model or ()), mark])


class Desk:
    """The floor of one turn. See `agent.floor.Floor`."""

    def __init__(self, thread: Thread, running: Running) -> None:
        self._thread = thread
        self._running = running

    def emit(self, *batch: Emission | Aside) -> None:
        """See `Floor.emit`. A tool may have told what a child has to report: then that waits no longer."""
        waiting = len(self._thread.queue.entries)
        self._thread.emit(*batch)
        if len(self._thread.queue.entries) != waiting:
            self._thread.emit(say.queue_changed(self._thread.id))

    def item_id(self, call: ToolCall) -> str:
        """See `Floor.item_id`."""
        asked = self._thread.requests.of_call(call.call_id)
        return uuid7() if asked is None else asked.item_id

    async def ask(self, call: ToolCall, question: Question) -> Any:
        """See `Floor.ask`."""
        return await self._thread.requests.ask(call, question)

    def item_count(self) -> int:
        """See `Floor.item_count`."""
        opened = self._thread.state.turn
        return 0 if opened is None else opened.count()

    def asked(self, call: ToolCall) -> bool:
        """See `Floor.asked`."""
        return self._thread.requests.of_call(call.call_id) is not None

    def allows(self, keys: Sequence[str]) -> bool:
        """See `Floor.allows`."""
        return bool(keys) and set(keys) <= set(self._thread.state.rest.allowed)

    def allow(self, keys: Sequence[str]) -> None:
        """See `Floor.allow`."""
        self._thread.emit(Aside([{"@": "allowed", "keys": list(keys)}]))

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        """See `Floor.spawn`."""
        self._thread.spawn(work, *args)

    def stop(self) -> None:
        """See `Floor.stop`."""
        self._running.stop(by_user=True)
