"""One thread of a tree as JSON: a `ThreadTreeNode` in its wire names.

Trees are large, and each thread lies elsewhere in memory: of the time that a thousand take, most goes into looking for
what is in them. So no model is built, and what never changes is encoded once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from threadloom.threads.state import stored_status
from threadloom_protocol.v2.values.items import (
    AgentMessageThreadItem,
    CollabAgentToolCallThreadItem,
    CommandExecutionThreadItem,
    FileChangeThreadItem,
    ReasoningThreadItem,
)

if TYPE_CHECKING:
    from threadloom.threads.thread import Thread
    from threadloom_protocol.model import Wire
    from threadloom_protocol.v2.values.threads import Thread as View

COMMAND: Final = 60  # characters of a command that a node shows


def spawned(view: View) -> bytes:
    """How a thread was born: the end of its node, which is costly to encode and never changes.

    Cut off, it is a copy: what orjson returns keeps the whole buffer that it was written in, 4 KB and more.
    """
    return orjson.dumps({"spawnPoint": view.spawn_point, "spawnConfig": view.spawn_config}, default=_encoded)[1:]


def live(thread: Thread, depth: int) -> bytes:
    """Of a thread that is in memory."""
    state = thread.state
    rest = state.rest
    view = rest.thread
    now: dict[str, Any] = {
        "threadId": view.id,
        "parentThreadId": view.parent_thread_id,
        "depth": depth,
        "name": view.name,
        "note": view.note,
        "agentRole": view.agent_role,
        "agentNickname": view.agent_nickname,
        "status": state.agent_status,
        "statusAt": rest.status_at // 1000 or view.updated_at,
        "activity": None if state.turn is None else _activity(thread),
        "model": view.model,
        "totalTokens": rest.usage.total.total_tokens if rest.usage else 0,
        "queueLength": view.queue.length if view.queue else 0,
        "forkedFromId": view.forked_from_id,
    }
    if view.kept_reports is not None:
        now["keptReports"] = view.kept_reports
    return b"%b,%b" % (orjson.dumps(now, default=_encoded)[:-1], thread.spawned)


def stored(state: bytes, thread_id: str, depth: int, *, held: bool) -> bytes:
    """Of one that is not, from what is stored, without building its state; `held`: another process has it."""
    rest: Mapping[str, Any] = orjson.loads(state)
    view = rest["thread"]
    used = rest.get("usage")
    kept = view.get("keptReports")
    node = {
        "threadId": thread_id,
        "parentThreadId": view.get("parentThreadId"),
        "depth": depth,
        "name": view.get("name"),
        "note": view.get("note"),
        "agentRole": view.get("agentRole"),
        "agentNickname": view.get("agentNickname"),
        "status": stored_status(rest, held=held),
        "statusAt": rest.get("statusAt", 0) // 1000 or view["updatedAt"],
        "activity": None,
        "model": view.get("model"),
        "totalTokens": used["total"]["totalTokens"] if used else 0,
        "queueLength": (view.get("queue") or {}).get("length", 0),
        "spawnPoint": view.get("spawnPoint"),
        "spawnConfig": view.get("spawnConfig"),
        "forkedFromId": view.get("forkedFromId"),
    }
    return orjson.dumps(node if kept is None else {**node, "keptReports": kept})


def _encoded(value: Wire) -> orjson.Fragment:
    return orjson.Fragment(value.to_json())


def _activity(thread: Thread) -> str | None:
    """What it is at just now, in a few words."""
    opened = thread.state.turn
    if opened is None:
        return None
    if asked := {it.flag for it in thread.requests.open.values()}:
        return "waits for an approval" if "waitingOnApproval" in asked else "waits for an answer"
    items = opened.open_items()
    match items[-1] if items else None:
        case CommandExecutionThreadItem(command=command):
            return f"runs {command if len(command) <= COMMAND else command[: COMMAND - 1] + '…'}"
        case FileChangeThreadItem(changes=changes):
            return f"changes {len(changes)} files" if len(changes) != 1 else f"changes {changes[0].path}"
        case CollabAgentToolCallThreadItem(tool=tool):
            return "waits for agents" if tool == "wait" else f"works with agents ({tool})"
        case ReasoningThreadItem():
            return "thinks"
        case AgentMessageThreadItem():
            return "writes"
        case _:
            return "works"
