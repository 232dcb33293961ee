"""What a client reads is of one moment: a thread and its rows in the index, however much happens meanwhile."""

from __future__ import annotations

import pytest
from tests.server.threads.house import House


@pytest.mark.parametrize("at", [1, 2, 3, 4])
@pytest.mark.parametrize("method", ["thread/read", "thread/resume", "thread/turns/list"])
async def test_a_turn_that_ends_while_somebody_waits_to_read_it_reads_as_it_ended(
    home: House, method: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with home.talking() as talk:
        thread_id = home.born()
        running = home.speak(thread_id, "wait")
        await home.threads.settled()
        index = home.threads.durable.index
        settled, waits = index.settled, 0

        async def meanwhile() -> None:
            """All is written, and before the one who waited for that reads on, the turn is over."""
            nonlocal waits
            await settled()
            waits += 1
            if waits == at:
                home.thread(thread_id).turns.end("completed")

        monkeypatch.setattr(index, "settled", meanwhile)
        told = await talk.ask(method, threadId=thread_id, **({"includeTurns": True} if method == "thread/read" else {}))
        monkeypatch.undo()
        turns = told["data"] if method == "thread/turns/list" else told["thread"]["turns"]
        assert [it["status"] for it in turns] in (["completed"], ["inProgress"])  # nobody has interrupted it
        running.stop()
        await running.done.wait()
