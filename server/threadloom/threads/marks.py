"""Marks: facts that no notification carries, and what each changes in a thread. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from threadloom.threads.resting import Asked, Due, Queued, Resting
from threadloom_protocol.v2.values.common import GitInfo
from threadloom_protocol.v2.values.genealogy import CallbackConfig, SavedPoint

if TYPE_CHECKING:
    from threadloom.threads.state import ThreadState

MAX_ALLOWED: Final = 1000  # things accepted for the rest of a thread that are remembered

Mark = dict[str, Any]  # a fact in the `model` part of a line that is no item of the history: {"@": kind, …}


# ── what waits for it ─────────────────────────────────────────────────────────────────────────────────────────────


def _queued(state: ThreadState, mark: Mark) -> None:
    if not state.rest.knows(mark["entry"]["id"]):
        state.rest.line_up([*state.rest.queue, Queued.model_validate(mark["entry"])])


def _requeued(state: ThreadState, mark: Mark) -> None:
    new = Queued.model_validate(mark["entry"])
    state.rest.line_up([new if it.id == new.id else it for it in state.rest.queue])


def _unqueued(state: ThreadState, mark: Mark) -> None:
    """They wait no more. What a turn claims is kept until its message is there."""
    rest, ids = state.rest, mark["ids"]
    if mark.get("claim"):
        taken = [it for it in [*rest.claimed, *rest.queue] if it.id in ids]
        rest.claimed = list({it.id: it for it in taken}.values())
    rest.know(ids)
    rest.line_up([it for it in rest.queue if it.id not in ids])


def _reordered(state: ThreadState, mark: Mark) -> None:
    places = {it: at for at, it in enumerate(mark["ids"])}  # one that came later stays behind them
    state.rest.line_up(sorted(state.rest.queue, key=lambda it: places.get(it.id, len(places))))


def _paused(state: ThreadState, mark: Mark) -> None:
    state.rest.queue_paused = mark["why"]
    state.rest.line_up(state.rest.queue)


# ── what it has to tell ───────────────────────────────────────────────────────────────────────────────────────────


def _report(state: ThreadState, mark: Mark) -> None:
    state.rest.owe([*_owed_but(state.rest, mark["id"]), Due.model_validate(mark)])


def _reported(state: ThreadState, mark: Mark) -> None:
    state.rest.owe(_owed_but(state.rest, mark["id"]))


def _owed_but(rest: Resting, report_id: str) -> list[Due]:
    return [it for it in rest.due_reports if it.id != report_id]


def _callback(state: ThreadState, mark: Mark) -> None:
    state.rest.callback = CallbackConfig.model_validate(mark["config"])


# ── what its turn asks ────────────────────────────────────────────────────────────────────────────────────────────


def _asked(state: ThreadState, mark: Mark) -> None:
    state.rest.pending[mark["id"]] = Asked.model_validate(mark)


def _answered(state: ThreadState, mark: Mark) -> None:
    asked, answer = state.rest.pending.pop(mark["id"], None), mark["answer"]
    if asked is not None and state.turn is not None and (answer or {}).get("decision") in ("decline", "cancel"):
        state.turn.refused.add(asked.item_id)


def _allowed(state: ThreadState, mark: Mark) -> None:
    others = [it for it in state.rest.allowed if it not in mark["keys"]]
    state.rest.allowed = [*others, *mark["keys"]][-MAX_ALLOWED:]


def _schema(state: ThreadState, mark: Mark) -> None:
    if state.turn is not None:
        state.turn.schema = mark["schema"]


def _tier(state: ThreadState, mark: Mark) -> None:
    if state.turn is not None:
        state.turn.service_tier = mark["tier"]


# ── its history ───────────────────────────────────────────────────────────────────────────────────────────────────


def _compact(state: ThreadState, mark: Mark) -> None:
    state.rest.compactions = [*_compactions(state.rest, state.rest.seq), state.rest.seq]


def _revert(state: ThreadState, mark: Mark) -> None:
    state.rest.compactions = _compactions(state.rest, mark["fromSeq"])


def _compactions(rest: Resting, before: int) -> list[int]:
    return [it for it in rest.compactions if it < before]


def _saved(state: ThreadState, mark: Mark) -> None:
    point = SavedPoint(name=mark["name"], seq=state.rest.seq, saved_at=mark["at"] // 1000)
    state.rest.thread.saved_as = [*_saved_but(state.rest, mark["name"]), point]


def _unsaved(state: ThreadState, mark: Mark) -> None:
    state.rest.thread.saved_as = _saved_but(state.rest, mark["name"])


def _saved_but(rest: Resting, name: str) -> list[SavedPoint]:
    return [it for it in rest.thread.saved_as if it.name != name]


# ── its life ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _closing(state: ThreadState, mark: Mark) -> None:
    state.rest.closing = True
    state.rest.own_close = mark.get("by", state.rest.thread.id)  # older logs do not name the operation


def _close(state: ThreadState, mark: Mark) -> None:
    state.rest.closed_by = mark["by"]


def _freed(state: ThreadState, mark: Mark) -> None:
    state.rest.freed = True


def _archiving(state: ThreadState, mark: Mark) -> None:
    state.rest.archiving = mark["by"]


def _archive(state: ThreadState, mark: Mark) -> None:
    state.rest.archived_by = mark["by"]


def _unarchiving(state: ThreadState, mark: Mark) -> None:
    state.rest.unarchiving = mark["by"]


def _deleting(state: ThreadState, mark: Mark) -> None:
    state.rest.deleting = mark["how"]


# ── what is told of it ────────────────────────────────────────────────────────────────────────────────────────────


def _thread(state: ThreadState, mark: Mark) -> None:
    for name, value in mark["set"].items():
        setattr(state.rest.thread, name, value)


def _own(state: ThreadState, mark: Mark) -> None:
    """What it is told from now on, in the place of what it was born with; what is left out stays."""
    rest = state.rest
    rest.base_instructions = mark.get("baseInstructions") or rest.base_instructions
    rest.developer_instructions = mark.get("developerInstructions") or rest.developer_instructions
    rest.config = {**rest.config, **mark.get("config", {})}


def _git(state: ThreadState, mark: Mark) -> None:
    state.rest.thread.git_info = GitInfo.model_validate(mark["info"]) if mark["info"] else None


def _spent(state: ThreadState, mark: Mark) -> None:
    state.rest.goal_ms = mark["ms"]


MARKS: Final[dict[str, Callable[[ThreadState, Mark], None]]] = {
    "queued": _queued,
    "requeued": _requeued,
    "unqueued": _unqueued,
    "consumes": _unqueued,
    "reordered": _reordered,
    "paused": _paused,
    "report": _report,
    "reported": _reported,
    "callback": _callback,
    "asked": _asked,
    "answered": _answered,
    "allowed": _allowed,
    "schema": _schema,
    "tier": _tier,
    "compact": _compact,
    "revert": _revert,
    "saved": _saved,
    "unsaved": _unsaved,
    "closing": _closing,
    "close": _close,
    "freed": _freed,
    "archiving": _archiving,
    "archive": _archive,
    "unarchiving": _unarchiving,
    "deleting": _deleting,
    "thread": _thread,
    "own": _own,
    "git": _git,
    "spent": _spent,
}
