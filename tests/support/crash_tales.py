"""Tales: random lives of threads, told on a loom, with what their teller saw on the way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import anyio
from hypothesis import strategies as st
from tests.support.crash_loom import BIG, Loom, Stroke, look, loom

from threadloom.events import Aside
from threadloom.threads.forks import fork
from threadloom.threads.thread import Thread
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2.values.content import TextUserInput

WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=9)
TEXT = st.one_of(WORDS, WORDS, WORDS, st.just(BIG))
MORE = st.builds(Stroke, st.just("more"), TEXT, st.integers(0, 2))
ITEM = st.builds(
    lambda kind, pieces, end: [kind, *pieces, *end],
    st.sampled_from(["message", "plan", "reasoning", "command", "reasoning"]).map(Stroke),
    st.lists(MORE, max_size=5),
    st.lists(st.builds(Stroke, st.just("end"), TEXT), max_size=1),
)
ASIDE = st.one_of(
    st.builds(Stroke, st.just("aside"), TEXT),
    st.builds(Stroke, st.just("call"), st.sampled_from("abc")),
    st.builds(Stroke, st.just("usage"), at=st.integers(0, 99)),
    MORE,
)
AMID = st.sampled_from(["fork", "name", "steer"])  # what happens between two reads of the model
SCENE = st.one_of(ITEM, ITEM, st.lists(ASIDE, min_size=1, max_size=3), AMID)
ENDING = st.sampled_from(["completed", "failed", "interrupted"])
PICK = st.integers(0, 99)
TURN = st.tuples(st.just("turn"), PICK, TEXT, st.lists(SCENE, max_size=5), ENDING)
DEED = st.one_of(
    TURN,
    st.tuples(st.sampled_from(["last", "before", "fork", "revert"]), PICK, PICK),
    st.tuples(st.sampled_from(["last", "before", "unload", "revert"]), PICK, PICK),
    st.tuples(st.sampled_from(["inject", "name", "note", "close", "archive", "start"]), PICK, PICK),
)
# There is something to go back to from the first deed on.
TALE = st.builds(lambda first, rest: [first, *rest], TURN, st.lists(DEED, min_size=2, max_size=9))


ROLE = "assistant"


class Fork(NamedTuple):
    """A fork, and what its source was at the point where it begins."""

    id: str
    turns: list[Any]
    history: list[Any]


class Teller:
    """Tells a tale, and remembers what it saw of it."""

    def __init__(self, woven: Loom) -> None:
        self.woven = woven
        self.ids: list[str] = []
        self.forks: list[Fork] = []
        self._began: dict[tuple[str, str], list[Any]] = {}  # the history of a thread when a turn of it began
        self._ended: dict[tuple[str, str], list[Any]] = {}  # and when it had ended

    async def tell(self, tale: list[Any]) -> None:
        self.ids.append(self.woven.start().id)
        for what, pick, *rest in tale:
            thread_id = self.ids[pick % len(self.ids)]
            await self.woven.threads.settled()
            await getattr(self, f"_{what}")(thread_id, *rest)
        await self.woven.threads.settled()

    def get(self, thread_id: str) -> Thread:
        return self.woven.threads.get(thread_id)

    def turns(self, thread_id: str) -> list[Any]:
        """The turns of a thread, as far as a fork has the same ones."""
        return [{name: it[name] for name in ("id", "status", "items")} for it in self.woven.turns(thread_id)]

    async def _start(self, thread_id: str, at: int) -> None:
        self.ids.append(self.woven.start(ephemeral=at % 2 == 1).id)

    async def _turn(self, thread_id: str, words: str, scenes: list[Any], ending: str) -> None:
        self._at_begin = before = self.get(thread_id).history()
        script = [getattr(self, f"_amid_{it}") if isinstance(it, str) else it for it in scenes]
        turn_id = await self.woven.tell(thread_id, words, script, ending)
        self._began[thread_id, turn_id] = before
        self._ended[thread_id, turn_id] = self.get(thread_id).history()

    async def _amid_fork(self, thread: Thread) -> None:
        """A fork of a turn under way ends that turn as if it had been interrupted there."""
        await self.woven.threads.settled()
        turns = self.turns(thread.id)
        turns[-1] |= {"status": "interrupted", "items": [_cut(it) for it in turns[-1]["items"]]}
        self._began[thread.id, turns[-1]["id"]] = self._at_begin
        await self._forked(thread.id, fork(self.woven.threads, thread), turns, thread.history())

    async def _amid_name(self, thread: Thread) -> None:
        thread.set_name("in the middle")

    async def _amid_steer(self, thread: Thread) -> None:
        thread.steer([TextUserInput(text="steered")])

    async def _fork(self, thread_id: str, at: int) -> None:
        source = self.get(thread_id)
        await self._forked(thread_id, fork(self.woven.threads, source), self.turns(thread_id), source.history())

    async def _last(self, thread_id: str, at: int) -> None:
        turns = self.turns(thread_id)
        if turns:
            at %= len(turns)
            made = fork(self.woven.threads, self.get(thread_id), last_turn=turns[at]["id"])
            await self._forked(thread_id, made, turns[: at + 1], self._ended[thread_id, turns[at]["id"]])

    async def _before(self, thread_id: str, at: int) -> None:
        turns = self.turns(thread_id)
        if turns:
            at %= len(turns)
            made = fork(self.woven.threads, self.get(thread_id), before_turn=turns[at]["id"])
            await self._forked(thread_id, made, turns[:at], self._began[thread_id, turns[at]["id"]])

    async def _forked(self, source: str, made: Thread, turns: list[Any], history: list[Any]) -> None:
        """The fork has these turns; and this history, and behind it at most what closes an open turn."""
        await self.woven.threads.settled()
        made.announce()
        self.ids.append(made.id)
        seen = made.history()
        assert self.turns(made.id) == turns
        assert seen[: len(history)] == history
        assert all(it["type"] == "function_call_output" or it["role"] == ROLE for it in seen[len(history) :])
        self.forks.append(Fork(made.id, turns, seen))
        for turn in turns:
            self._began[made.id, turn["id"]] = self._began[source, turn["id"]]
            self._ended[made.id, turn["id"]] = self._ended.get((source, turn["id"]), seen)  # else it was cut here

    async def _revert(self, thread_id: str, at: int) -> None:
        turns = self.turns(thread_id)
        if turns:
            thread = self.get(thread_id)
            at %= len(turns)
            row = thread.store.index.turn(thread_id, turns[at]["id"])
            assert row is not None
            thread.revert(row.seq)
            await self.woven.threads.settled()
            assert self.turns(thread_id) == turns[:at]
            self.forks = [it for it in self.forks if it.id != thread_id]

    async def _inject(self, thread_id: str, at: int) -> None:
        self.get(thread_id).emit(Aside([{"type": "message", "role": "user", "content": [{"n": at}]}]))

    async def _name(self, thread_id: str, at: int) -> None:
        self.get(thread_id).set_name(f"name {at}")

    async def _note(self, thread_id: str, at: int) -> None:
        self.get(thread_id).set_note(f"note {at}" if at else None)

    async def _unload(self, thread_id: str, at: int) -> None:
        thread = self.get(thread_id)
        was = look(thread.state), thread.history()
        self.woven.threads.unload(thread)
        thread = self.get(thread_id)
        assert (look(thread.state), thread.history()) == was

    async def _close(self, thread_id: str, at: int) -> None:
        await self.woven.threads.cascade.close(thread_id)
        await self.woven.threads.cascade.reopen(thread_id)

    async def _archive(self, thread_id: str, at: int) -> None:
        try:
            await self.woven.threads.moves.archive(thread_id)
        except InvalidRequest:
            return  # an ephemeral one
        await self.woven.threads.moves.unarchive(thread_id)


def _cut(item: Any) -> Any:
    """An item as the end of its turn leaves it."""
    return {**item, "status": "failed"} if item.get("status") == "inProgress" else item


def told(tale: list[Any], then: Callable[[Teller], Awaitable[None]]) -> None:
    """Tell a tale, and look at what became of it."""

    async def run() -> None:
        async with loom() as woven:
            teller = Teller(woven)
            await teller.tell(tale)
            await then(teller)

    anyio.run(run)
