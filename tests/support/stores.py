"""Large homes, written with the product's own log code: many threads, or one long one.

`python -m tests.support.stores --home DIR --threads N | --items N [--provider NAME --model NAME] [--no-index]` prints,
as its last line, `{"ids": [newest first], "bytes": …, "indexed_s": …}`. Every thread has two turns: words, then nine
commands and words. DIR is a home; where it holds a `config.toml` of Codex, the home is its folder `threadloom`, as it
is for a server.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from threadloom.agent.history import call_item, message_item, output_item, user_item
from threadloom.agent.sampling import ToolCall
from threadloom.config import home as home_of
from threadloom.events import Emission, line, record
from threadloom.seal import sealed, unsealed
from threadloom.store.base import EventLog
from threadloom.store.rollout import Rollouts
from threadloom.store.rows import Header
from threadloom.threads import say
from threadloom.threads.birth import COMPATIBLE
from threadloom.threads.defaults import plain
from threadloom.threads.replay import fold
from threadloom_protocol.v2 import item, turn
from threadloom_protocol.v2.values.content import TextUserInput
from threadloom_protocol.v2.values.items import (
    AgentMessageThreadItem,
    CommandExecutionThreadItem,
    UserMessageThreadItem,
)
from threadloom_protocol.v2.values.status import IdleThreadStatus
from threadloom_protocol.v2.values.threads import Thread as View
from threadloom_protocol.v2.values.turns import Turn

SPACING = 600_000  # milliseconds between threads
COMMANDS = 9  # of a working turn
PIECES = 10  # of a message
PIECE = "The loom hums while the shuttle goes to and fro, and the cloth grows by a thread for every beat. " + "x" * 3
OUTPUT = "\n".join(map(str, range(1, 51))) + "\n"
TOPICS = ("parser", "socket", "cache", "login", "render")
MODULES = ("alpha", "beta", "gamma", "delta")


def title(number: int) -> str:
    """What a person asked first; some ask for a needle."""
    rare = " needle" if number % 997 == 500 else ""
    return f"Fix {TOPICS[number % 5]} bug {number} in module {MODULES[number % 4]}{rare}"


def identity(at: int, number: int) -> str:
    """An id of a given time, different for every number."""
    when, chance = f"{at:012x}", number * 2654435761 & 0xFFFFFFFFFFFF
    return f"{when[:8]}-{when[8:]}-7{number >> 20 & 0xFFF:03x}-8{number >> 8 & 0xFFF:03x}-{chance:012x}"


class Hand:
    """Writes turns: the events that a turn brings about, one after the other."""

    def __init__(self, thread_id: str, at: int) -> None:
        self.thread_id = thread_id
        self.seq = 1  # thread/started
        self.at = at
        self._ids = 0

    def lines(self, words: str, commands: int) -> list[bytes]:
        """A turn, as lines of the log."""
        lines = []
        for it in self._turn(words, commands):
            self.seq += 1
            lines.append(line(record(self.thread_id, self.seq, self.at, it), it.model))
        self.at += 500
        return lines

    def _id(self) -> str:
        self._ids += 1
        return identity(self.at, self._ids)

    def _turn(self, words: str, commands: int) -> Iterator[Emission]:
        turn_id = self._id()
        yield say.active(self.thread_id)
        yield say.turn_started(self.thread_id, turn_id, self.at)
        content: list[Any] = [TextUserInput(text=words)]
        asked = UserMessageThreadItem(id=self._id(), content=content)
        yield from self._whole(turn_id, asked, user_item(words))
        for number in range(commands):
            yield from self._command(turn_id, f"seq 1 {50 + number}")
        answer = AgentMessageThreadItem(id=self._id(), text="", phase="final_answer")
        where = {"thread_id": self.thread_id, "turn_id": turn_id}
        yield Emission(item.STARTED, item.ItemStartedNotification(item=answer, started_at_ms=self.at, **where))
        for _ in range(PIECES):
            delta = item.AgentMessageDeltaNotification(item_id=answer.id, delta=PIECE, **where)
            yield Emission(item.AGENT_MESSAGE_DELTA, delta)
        said = answer.model_copy(update={"text": PIECE * PIECES})
        completed = say.item_completed(self.thread_id, turn_id, said, self.at)
        yield completed._replace(model=[message_item(said.text)])
        yield self._usage(turn_id)
        yield say.idle(self.thread_id)
        ended = Turn(id=turn_id, items=[said], status="completed", started_at=self.at // 1000, items_view="summary")
        yield say.turn_completed(self.thread_id, ended)

    def _whole(self, turn_id: str, it: Any, *model: dict[str, Any]) -> Iterator[Emission]:
        started, completed = say.whole_item(self.thread_id, turn_id, it, self.at)
        yield started
        yield completed._replace(model=list(model))

    def _command(self, turn_id: str, command: str) -> Iterator[Emission]:
        call = ToolCall(f"call_{self._ids}", "exec_command", orjson.dumps({"cmd": command}).decode())
        begun = CommandExecutionThreadItem(
            id=self._id(), command=command, cwd="/", status="inProgress", command_actions=[]
        )
        started, _ = say.whole_item(self.thread_id, turn_id, begun, self.at)
        yield started._replace(model=[call_item(call)])
        done = begun.model_copy(
            update={"status": "completed", "aggregated_output": OUTPUT, "exit_code": 0, "duration_ms": 3}
        )
        completed = say.item_completed(self.thread_id, turn_id, done, self.at)
        yield completed._replace(model=[output_item(call, OUTPUT)])

    def _usage(self, turn_id: str) -> Emission:
        part = turn.TokenUsageBreakdown(
            total_tokens=20, input_tokens=10, cached_input_tokens=0, output_tokens=10, reasoning_output_tokens=0
        )
        usage = turn.ThreadTokenUsage(last=part, total=part, model_context_window=None)
        event = turn.ThreadTokenUsageUpdatedNotification(thread_id=self.thread_id, turn_id=turn_id, token_usage=usage)
        return Emission(turn.TOKEN_USAGE_UPDATED, event)


class Scribe:
    """Writes threads into a home."""

    def __init__(self, home: Path, model: str = "rehearsal", provider: str = "rehearsal") -> None:
        self.store = Rollouts(home)
        self._settings = plain(model, provider, "/")

    def thread(self, thread_id: str, at: int, *more: bytes) -> EventLog:
        """A thread with these lines behind the one that starts it."""
        seconds = at // 1000
        header = Header(thread_id, at, root=thread_id, settings={"settings": orjson.loads(self._settings.to_json())})
        view = View(
            id=thread_id,
            session_id=thread_id,
            project_id=None,
            preview="",
            ephemeral=False,
            model_provider=self._settings.model_provider,
            model=self._settings.model,
            created_at=seconds,
            updated_at=seconds,
            recency_at=seconds,
            status=IdleThreadStatus(),
            path=self.store.path(header),
            cwd=self._settings.cwd,
            cli_version=COMPATIBLE,
            source="vscode",
            history_mode="paginated",
            turns=[],
        )
        header.facts["thread"] = orjson.loads(view.to_json())
        born = record(thread_id, 1, at, say.started(view))
        log = self.store.create(header, [line(born, None), *more])
        log.close()
        return log

    def threads(self, count: int, now: int, commands: int = COMMANDS) -> list[str]:
        """Many threads of two turns each, the newest first: one is written, and copied with other ids and times."""
        first, words = identity(now, 0), "TITLE"
        hand = Hand(first, now)
        body = b"".join([*hand.lines(words, 0), *hand.lines("go on", commands)])
        ids = []
        for number in range(count):
            at = now - 3_600_000 - number * SPACING
            thread_id = identity(at, number + 1)
            copy = body.replace(first.encode(), thread_id.encode()).replace(words.encode(), title(number).encode())
            for was, becomes in ((now // 1000, at // 1000), ((now + 500) // 1000, (at + 500) // 1000)):
                copy = copy.replace(str(was).encode(), str(becomes).encode())
            self.thread(thread_id, at, *(sealed(unsealed(it)[:-2]) for it in copy.splitlines(keepends=True)))
            ids.append(thread_id)
        return ids

    def long(self, items: int, now: int) -> str:
        """One thread of so many items; its id."""
        thread_id = identity(now - 86_400_000, 1)
        hand = Hand(thread_id, now - 86_400_000)
        self.thread(thread_id, hand.at)
        log = self.store.open(thread_id)
        left = items
        while left > 0:
            log.append(hand.lines(f"turn {items - left}", min(COMMANDS, max(0, left - 2))))
            left -= COMMANDS + 2
        log.close()
        return thread_id

    async def index(self) -> float:
        """Bring the index up to the logs; how many seconds that took."""
        began = time.perf_counter()
        await self.store.recover(fold)
        return time.perf_counter() - began

    def bytes(self) -> int:
        """What the logs hold."""
        return sum(it.size for it in self.store.folders.walk())


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--model", default="rehearsal")
    parser.add_argument("--provider", default="rehearsal")
    parser.add_argument("--no-index", action="store_true")
    asked = parser.parse_args()
    home = home_of({"CODEX_HOME": str(asked.home)}) if (asked.home / "config.toml").exists() else asked.home
    scribe, now = Scribe(home, asked.model, asked.provider), time.time_ns() // 1_000_000
    ids = scribe.threads(asked.threads, now)
    ids += [scribe.long(asked.items, now)] if asked.items else []
    told: dict[str, Any] = {"ids": ids, "bytes": scribe.bytes()}
    if not asked.no_index:
        told["indexed_s"] = round(asyncio.run(scribe.index()), 2)
    scribe.store.close()
    print(orjson.dumps(told).decode())


if __name__ == "__main__":
    main()
