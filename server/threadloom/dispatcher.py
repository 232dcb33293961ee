"""Request → answer: in order where order matters, and the one place where an exception becomes an answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Hashable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyio.abc import TaskGroup

from threadloom.log import logger
from threadloom.routes import Context, Route, Routes, Then
from threadloom.store.errors import Held, StoreError
from threadloom_protocol.errors import InternalError, InvalidRequest, RpcError, ShuttingDown
from threadloom_protocol.jsonrpc import Encoded

if TYPE_CHECKING:
    from threadloom_protocol.model import Result

log = logger(__name__)


def as_error(fault: Exception, method: str) -> RpcError:
    """What a client hears of an exception: its own error, or that the server is at fault, with no detail leaked."""
    if isinstance(fault, RpcError):
        return fault
    if isinstance(fault, Held):
        return InvalidRequest(str(fault), {"pid": fault.pid})
    if isinstance(fault, StoreError):
        return InternalError(str(fault))
    log.error("a handler failed", method=method, exc_info=fault)
    return InternalError(f"Internal error in {method}: {type(fault).__name__}")


# Requests that set something going which would outlast them.
BEGINNINGS: Final = frozenset(
    {
        "agent/sendInput",
        "agent/spawn",
        "command/exec",
        "process/spawn",
        "review/start",
        "session/fork",
        "session/resume",
        "thread/compact/start",
        "thread/fork",
        "thread/queue/start",
        "thread/shellCommand",
        "thread/start",
        "turn/start",
    }
)

Outcome = Encoded | RpcError
Reply = Callable[[Outcome], None]


def _answer(result: Any, reply: Reply) -> None:
    if type(result) is Then:
        reply(result.result.to_json())
        result.then()
    else:
        reply(result.to_json())


class Call(NamedTuple):
    """One request on its way to its answer: `reply` is called exactly once, whatever happens."""

    route: Route
    context: Context
    params: Any
    reply: Reply

    async def finish(self, wait: Coroutine[Any, Any, Result] | None = None) -> None:
        """Wait for the handler, and answer."""
        try:
            result: Any = self.route.run(self.context, self.params) if wait is None else wait
            _answer(await result if self.route.awaits else result, self.reply)
        except Exception as fault:  # the boundary: an exception becomes an answer
            self.reply(as_error(fault, self.route.request.method))
        except BaseException:  # cancelled: the server is stopping
            self.reply(ShuttingDown())
            raise


class Dispatcher:
    """Finds the route of a request and sees that it is answered, in order where order matters."""

    def __init__(self, routes: Routes, tasks: TaskGroup) -> None:
        self._routes = routes
        self._tasks = tasks
        self._lanes: dict[Hashable, deque[Call]] = {}
        self.asked = 0  # requests that have come
        self.draining = False  # what runs may end, and be looked at and steered; nothing begins
        self.stopping = False

    def dispatch(self, context: Context, method: str, params: Any, reply: Reply) -> None:
        """Answer a request through `reply`: at once, or when its turn has come."""
        self.asked += 1
        try:
            if self.stopping:
                raise ShuttingDown
            if self.draining and method in BEGINNINGS:
                raise ShuttingDown("The server is shutting down: what runs may end, but nothing new begins.")
            route = self._routes.find(method)
            if route.request.experimental and not context.peer.client.experimental:
                raise InvalidRequest(f"{method} requires experimentalApi capability")
            lane = _lane(context, params) if route.threaded else None
            if lane in self._lanes:
                self._lanes[lane].append(Call(route, context, params, reply))
                return
            result = route.run(context, params)
            if not route.awaits:
                _answer(result, reply)
                return
        except Exception as fault:  # the boundary: an exception becomes an answer
            reply(as_error(fault, method))
            return
        call = Call(route, context, params, reply)
        if lane is None:
            self._tasks.start_soon(call.finish, result)
        else:
            self._lanes[lane] = deque()
            self._tasks.start_soon(self._drain, lane, call, result)

    async def _drain(self, lane: Hashable, call: Call, wait: Coroutine[Any, Any, Result]) -> None:
        """Requests of one client about one thread run one after the other."""
        queue = self._lanes[lane]
        try:
            await call.finish(wait)
            while queue:
                await queue.popleft().finish()
        finally:
            for left in queue:
                left.reply(ShuttingDown())
            del self._lanes[lane]


def _lane(context: Context, params: Any) -> Hashable:
    thread = params.get("threadId") if type(params) is dict else None
    return (context.peer, thread) if type(thread) is str else None
