"""Saying something to an agent: for the tools of its tree, and for clients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from threadloom.agent.collab.validate import Refused
from threadloom.agent.sampling import Item
from threadloom.threads.attachments import attached
from threadloom.threads.inputs import WRITTEN, Files, check
from threadloom_protocol.v2.values.content import UserInput

if TYPE_CHECKING:
    from threadloom.threads.thread import Thread

WRONG: Final = 3  # faults of an input that are named


async def ready_to_hear(
    agent: Thread, said: Sequence[Any], *, interrupt: bool = False, client_id: str | None = None
) -> Files:
    """Wait until something may be said to an agent; the files that come with it. It may be known then, or before."""
    known = partial(agent.known_turn, client_id)
    if not known():
        check(said)  # what is refused ends nothing
    files = {} if known() else await attached(said, agent.state.rest.settings.cwd)
    await (agent.interrupt() if interrupt and not known() else agent.ended())
    return files


def speak(
    agent: Thread, said: Sequence[Any], files: Files, client_id: str | None = None, *, by_parent: bool = False
) -> str:
    """Say something to an agent: it joins its turn, or begins one; the id of the item in its log."""
    agent.start_turn(said, files=files, client_id=client_id, by_parent=by_parent).show()
    assert agent.state.turn is not None
    return agent.state.turn.newest


def written(content: Sequence[Item]) -> list[UserInput]:
    """What a tool has to say, as clients write it. Raises `Refused` where it does not fit."""
    try:
        return WRITTEN.validate_python(list(content))
    except ValidationError as fault:
        wrong = [f"{'.'.join(map(str, it['loc']))}: {it['msg']}" for it in fault.errors(include_input=False)]
        raise Refused(f"The input does not fit. {'; '.join(wrong[:WRONG])}.") from fault
