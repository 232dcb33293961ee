"""The connection of a chat: made, lost, made again, with nothing missed in between."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeVar

import anyio

from threadloom.cli.chat.asks import Asks
from threadloom.cli.chat.talk import Talk
from threadloom.cli.link import Place
from threadloom_client import Client, Disconnected, Lagged, Notification, RequestTimeout, Subscription
from threadloom_protocol.errors import RpcError
from threadloom_protocol.model import Params, Result
from threadloom_protocol.spec import ClientRequest
from threadloom_protocol.v2 import approval, history, queue, stream, thread, tree, turn
from threadloom_protocol.v2.values.content import TextUserInput
from threadloom_protocol.v2.values.items import FileChangeThreadItem

P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Result)

FIRST_PAUSE: Final = 0.2  # seconds before the first attempt to connect again; each later one takes twice as long
LONGEST_PAUSE: Final = 2.0
PAST: Final = thread.ThreadResumeInitialTurnsPageParams(limit=10, items_view="full")  # of a thread that is opened

State = Literal["connecting", "connected", "reconnecting"]
Heard = Callable[[Notification[Any]], None]


class Line:
    """One conversation with one server, over as many connections as it takes."""

    def __init__(self, place: Place, talk: Talk, asks: Asks, heard: Heard) -> None:
        self._place = place
        self._talk = talk
        self._asks = asks
        self._heard = heard
        self._client: Client | None = None
        self._unsent: dict[str, str] = {}  # prompts by their ids: the server takes each once, however often it comes
        self._sending = anyio.Lock()
        self.state: State = "connecting"

    async def ask(self, method: ClientRequest[P, R], params: P, *, timeout: float | None = None) -> R:
        """A request of the person. Raises `Disconnected` while there is nobody to ask."""
        if self._client is None:
            raise Disconnected("not connected at the moment")
        return await self._client.request(method, params, timeout=timeout)

    async def run(self, begin: Callable[[], Awaitable[None]]) -> None:
        """Connect and follow; `begin` opens the thread on the first connection."""
        pause = FIRST_PAUSE
        while True:
            try:
                async with self._place.client(self._talk.aside) as client:
                    await self._follow(client, begin)
            except (Disconnected, RequestTimeout):
                if self._place.url is None or self.state == "connecting":
                    raise
                pause = FIRST_PAUSE if self.state == "connected" else min(2 * pause, LONGEST_PAUSE)
            finally:
                self._client = None
            self.state = "reconnecting"
            await anyio.sleep(pause)

    async def _follow(self, client: Client, begin: Callable[[], Awaitable[None]]) -> None:
        self._asks.listen(client)
        with client.notifications() as events:
            self._client = client
            await (begin() if self.state == "connecting" else self._catch_up())
            self.state = "connected"
            await self.watch_tree()
            await self._send_rest()
            await self._listen(events)

    async def _listen(self, events: Subscription[Any]) -> None:
        while True:
            try:
                async for event in events:
                    await self._take(event)
                raise Disconnected("the server has gone")
            except Lagged:
                await self._catch_up()

    async def _take(self, event: Notification[Any]) -> None:
        self._talk.take(event)
        match event.params:
            case stream.ThreadGapNotification():
                await self._catch_up()
            case approval.ServerRequestResolvedNotification(request_id=request_id):
                self._asks.resolved(request_id)
            case queue.ThreadQueueChangedNotification(thread_id=at) if at == self._talk.thread_id:
                await self.read_queue()
            case turn.TurnCompletedNotification(thread_id=at) if at == self._talk.thread_id:
                await self.read_queue()
        self._heard(event)

    async def _catch_up(self) -> None:
        """Ask for all that was missed, here and below."""
        talk = self._talk
        below = {it: seq for it, seq in talk.seqs.items() if it != talk.thread_id}
        since = talk.seqs.get(talk.thread_id, 0)
        params = thread.ThreadResumeParams(
            thread_id=talk.thread_id, since_seq=since, descendants=below, exclude_turns=True, initial_turns_page=PAST
        )
        answer = await self.ask(thread.RESUME, params)
        if answer.truncated:
            talk.open(answer)
            await self.recall(answer)
        elif answer.thread.status.type != "active" and talk.seqs.get(talk.thread_id, 0) >= (answer.seq or 0):
            talk.turn_id = None  # nothing was missed, and nothing runs

    async def recall(self, answer: Any) -> None:
        """Show the last turns of a thread: those that came with the answer, or else, of one at rest, those it has."""
        page = getattr(answer, "initial_turns_page", None)
        if page is None:
            params = history.ThreadTurnsListParams(
                thread_id=answer.thread.id, limit=PAST.limit, items_view=PAST.items_view
            )
            page = await self.ask(history.TURNS, params)
        self._talk.history(page)

    async def look_up(self, asked: approval.FileChangeRequestApprovalParams) -> None:
        """What an agent wants to change, where this chat came too late to hear of it."""
        params = history.ThreadItemsListParams(thread_id=asked.thread_id, turn_id=asked.turn_id, sort_direction="desc")
        for it in (await self.ask(history.ITEMS, params)).data:
            if it.item.id == asked.item_id and isinstance(it.item, FileChangeThreadItem):
                self._talk.proposed[it.item.id] = it.item

    async def watch_tree(self) -> None:
        """See the tree as it grows."""
        params = tree.ThreadTreeParams(thread_id=self._talk.thread_id, subscribe=True)
        answer = await self.ask(tree.READ, params)
        self._talk.nodes = {it.thread_id: it for it in answer.data}
        await self.read_queue()

    async def read_queue(self) -> None:
        """What waits for its turn."""
        talk = self._talk
        try:
            found = (await self.ask(queue.LIST, queue.ThreadQueueListParams(thread_id=talk.thread_id))).data
        except RpcError:  # a thread that is gone has no queue
            found = []
        talk.waiting = [" ".join(getattr(it, "text", "") for it in each.input) for each in found]

    # ── what the person says ──────────────────────────────────────────────────────────────────────────────────────

    async def prompt(self, text: str) -> None:
        """Have something answered: now, after the running turn, or as soon as there is a connection again."""
        self._unsent[str(uuid.uuid4())] = text
        if self._client is not None and self.state == "connected":
            await self._send_rest()

    @property
    def unsent(self) -> list[str]:
        """What the server has not taken yet."""
        return list(self._unsent.values())

    async def _send_rest(self) -> None:
        async with self._sending:
            for identity, text in list(self._unsent.items()):
                try:
                    await self._send(identity, text)
                except (Disconnected, RequestTimeout):
                    return  # it goes out on the next connection
                except RpcError:
                    self._unsent.pop(identity, None)
                    raise
                self._unsent.pop(identity, None)

    async def _send(self, identity: str, text: str) -> None:
        talk = self._talk
        said: list[Any] = [TextUserInput(text=text)]
        if talk.closed:
            params = thread.ThreadResumeParams(thread_id=talk.thread_id, exclude_turns=True)
            talk.open(await self.ask(thread.RESUME, params))
        if talk.busy:
            add = queue.ThreadQueueAddParams(thread_id=talk.thread_id, input=said, client_user_message_id=identity)
            await self.ask(queue.ADD, add)
            return
        start = turn.TurnStartParams(thread_id=talk.thread_id, input=said, client_user_message_id=identity)
        began = await self.ask(turn.START, start)
        talk.begin(began.turn.id)

    async def interrupt(self) -> None:
        """End the running turn."""
        talk = self._talk
        if talk.turn_id is not None:
            await self.ask(turn.INTERRUPT, turn.TurnInterruptParams(thread_id=talk.thread_id, turn_id=talk.turn_id))
