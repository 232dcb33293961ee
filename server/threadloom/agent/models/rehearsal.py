"""The rehearsal model: built in, offline, deterministic, honest about it. It does what the lines of a prompt say."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Final

import anyio
from anyio.lowlevel import checkpoint

from threadloom.agent.models.performance import Pause, Performance
from threadloom.agent.models.script import Fail, Wait
from threadloom.agent.sampling import ModelError, ModelEvent, Sampling

BATCH: Final = 16  # pieces to a read, as a provider's chunks hold several, so that many words cost little


class Rehearsal:
    """Plays a model. All it knows is in the history, so it goes on after a restart as if nothing had been."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]] = anyio.sleep) -> None:
        self._sleep = sleep

    async def stream(self, sampling: Sampling) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """The answer, in pieces."""
        batch: list[ModelEvent] = []
        for cue in Performance(sampling).cues():
            if isinstance(cue, Pause | Wait | Fail):
                if batch:
                    yield batch
                    batch = []
                await self._hold(cue)
                continue
            batch.append(cue)
            if len(batch) == BATCH:
                await checkpoint()  # others go first, however much there is to say
                yield batch
                batch = []
        await checkpoint()
        yield batch

    async def _hold(self, cue: Pause | Wait | Fail) -> None:
        match cue:
            case Pause(seconds):
                await self._sleep(seconds)
            case Wait():
                await anyio.sleep_forever()
            case Fail(text):
                await checkpoint()
                raise ModelError(text, "other")
