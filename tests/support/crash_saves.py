"""Tales in which threads are saved: what each name has to bring back, whatever happens to the thread afterwards."""

from __future__ import annotations

from collections import Counter
from contextlib import aclosing
from typing import Any, NamedTuple

import anyio
from hypothesis import strategies as st
from tests.support.crash_loom import SECONDS
from tests.support.crash_tales import ENDING, ITEM, PICK, SCENE, TEXT, Teller

from threadloom.agent.history import CALLS, OUTPUTS
from threadloom.store.rollout import Rollouts
from threadloom.threads.forks import fork
from threadloom.threads.frozen import digest
from threadloom.threads.sessions import Sessions
from threadloom.threads.thread import Thread

SAVING = st.sampled_from(["save", "save", "compact", "fork"])
TURN = st.tuples(st.just("turn"), PICK, TEXT, st.lists(st.one_of(SCENE, ITEM, SAVING), max_size=6), ENDING)
DEED = st.one_of(
    TURN,
    TURN,
    st.tuples(st.sampled_from(["save", "save", "revert", "compact", "delete", "purge"]), PICK, PICK),
    st.tuples(st.just("meant"), PICK, PICK, st.sampled_from(["go_on", "revert", "compact", "delete"])),
    st.tuples(st.sampled_from(["save", "last", "before", "fork", "unload", "inject", "close"]), PICK, PICK),
)
SAVE = st.tuples(st.just("save"), PICK, PICK)
TALE = st.builds(lambda first, save, rest: [first, save, *rest], TURN, SAVE, st.lists(DEED, min_size=5, max_size=12))


class Promise(NamedTuple):
    """What a name has to bring back."""

    thread_id: str
    turns: list[Any]
    history: list[Any]
    request: Any  # the next one to the model


class Saver(Teller):
    """Saves threads, and remembers what they were."""

    promises: dict[str, Promise]
    since: dict[str, set[str]]  # what has happened to the thread that a name means

    async def tell(self, tale: list[Any]) -> None:
        self.promises, self.since = {}, {}
        await super().tell(tale)

    def _happened(self, thread_id: str, what: str) -> None:
        for name, promise in self.promises.items():
            if promise.thread_id == thread_id:
                self.since[name].add(what)

    @property
    def sessions(self) -> Sessions:
        return Sessions(self.woven.threads)

    async def _start(self, thread_id: str, at: int) -> None:
        self.ids.append(self.woven.start().id)

    async def _save(self, thread_id: str, at: int) -> None:
        thread = self.get(thread_id)
        if thread.state.rest.thread.ephemeral:
            return
        promise = await self._promise(thread)
        name = f"name {at % 3}"  # few, so that names are taken over
        await self.sessions.save(thread_id, name)
        self.promises[name] = promise
        self.since[name] = set()

    async def _turn(self, thread_id: str, words: str, scenes: list[Any], ending: str) -> None:
        self._happened(thread_id, "turn")
        await super()._turn(thread_id, words, scenes, ending)

    async def _revert(self, thread_id: str, at: int) -> None:
        if self.turns(thread_id):
            self._happened(thread_id, "revert")
        await super()._revert(thread_id, at)

    async def _meant(self, thread_id: str, at: int, what: str) -> None:
        """Something happens to a thread that a name means, if it is still there."""
        meant = sorted({it.thread_id for it in self.promises.values()}.intersection(self.ids))
        if meant:
            await getattr(self, f"_{what}")(meant[at % len(meant)], at)

    async def _go_on(self, thread_id: str, at: int) -> None:
        await self._turn(thread_id, f"go on {at}", [], "completed")

    async def _compact(self, thread_id: str, at: int) -> None:
        thread = self.get(thread_id)
        before = thread.history()
        held = len(thread.state.rest.compactions)
        running = thread.compact()
        running.show()
        with anyio.fail_after(SECONDS):
            await running.done.wait()
        self._compacted(thread, held)
        self._began[thread_id, running.id] = before
        self._ended[thread_id, running.id] = thread.history()

    def _compacted(self, thread: Thread, held: int) -> None:
        if len(thread.state.rest.compactions) > held:  # else there was nothing to sum up
            self._happened(thread.id, "compaction")

    async def _promise(self, thread: Thread) -> Promise:
        """What a fork of it is right now: such a fork is held against its source elsewhere."""
        await self.woven.threads.settled()
        twin = fork(self.woven.threads, thread)
        twin.announce()
        await self.woven.threads.settled()
        promise = Promise(thread.id, self.turns(twin.id), twin.history(), await self._request(twin))
        await self.woven.threads.moves.delete(twin.id)
        return promise

    async def _request(self, thread: Thread) -> Any:
        """What its model is asked in its next turn."""
        seen: list[Any] = []

        async def look(it: Thread) -> None:
            asked = self.woven.puppet.asked
            assert asked is not None
            seen.append([asked.model, asked.provider, asked.cwd, asked.instructions, [*asked.tools], asked.history()])

        await self.woven.tell(thread.id, "what next?", [look], "completed")
        return seen

    async def _amid_save(self, thread: Thread) -> None:
        acting = self.woven.acting = anyio.Event()
        try:
            await self._save(thread.id, 1)
        finally:
            self.woven.acting = None
            acting.set()

    async def _amid_compact(self, thread: Thread) -> None:
        held = len(thread.state.rest.compactions)
        async with aclosing(self.woven.puppet.compact(self.woven.puppet.inputs[thread.id])) as batches:
            async for batch in batches:
                thread.emit(*batch)
        self._compacted(thread, held)

    async def _delete(self, thread_id: str, at: int, *, purge: bool = False) -> None:
        if len(self.ids) == 1:  # there is always one to go on with
            await self._start(thread_id, at)
        self._happened(thread_id, "delete")
        await self.woven.threads.moves.delete(thread_id, purge=purge)
        self.ids.remove(thread_id)
        self.forks = [it for it in self.forks if it.id != thread_id]

    async def _purge(self, thread_id: str, at: int) -> None:
        """Gone for good, with the names that meant it; where forks stand on it, it is only deleted."""
        kept = self.woven.threads.durable.index.saved.keepers([thread_id])
        if not kept.forks:
            await self._delete(thread_id, at, purge=True)
            self.promises = {name: it for name, it in self.promises.items() if it.thread_id != thread_id}

    async def kept(self) -> Counter[str]:
        """Every name brings back what it promised; how many, and after what."""
        index = self.woven.threads.durable.index.saved
        assert {it.row.name for it in index.page(99)} == set(self.promises)
        for name, promise in self.promises.items():
            meant = self.sessions.find(name)
            assert meant.saved is not None
            assert meant.thread_id == promise.thread_id
            made = self.sessions.fork(meant.saved)
            made.announce()
            await self.woven.threads.settled()
            assert isinstance(made.store, Rollouts)
            assert self.turns(made.id) == promise.turns
            assert made.history() == promise.history
            assert digest(made.history()) == meant.saved.digest
            request = await self._request(made)
            assert request == promise.request
            assert_sendable(request[0][-1])
        await self.woven.threads.settled()
        return Counter(
            [*("name" for _ in self.promises), *(what for name in self.promises for what in self.since[name])]
        )


def assert_sendable(history: list[Any]) -> None:
    """Every call has its output, and every output its call: else no provider takes the request."""
    calls = [it["call_id"] for it in history if it["type"] in CALLS]
    outputs = [it["call_id"] for it in history if it["type"] in OUTPUTS]
    assert set(calls) == set(outputs), "calls without an output, or outputs without a call"
