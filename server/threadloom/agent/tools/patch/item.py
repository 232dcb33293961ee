"""A patch as an item of its turn: the changes before they are made, the question, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import orjson

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.floor import Action, Floor, Question
from threadloom.agent.sampling import ToolCall
from threadloom.agent.tools.deciding import Decided
from threadloom.events import Emission
from threadloom.exec.patch import Plan
from threadloom_protocol.v2 import approval, item
from threadloom_protocol.v2 import turn as turns
from threadloom_protocol.v2.values.guardian import ApplyPatchGuardianApprovalReviewAction
from threadloom_protocol.v2.values.item_parts import FileUpdateChange
from threadloom_protocol.v2.values.items import FileChangeThreadItem


class FileChange:
    """From the plan to its end. Without a plan there is nothing to show, as the files have changed since."""

    def __init__(self, turn: TurnInput, floor: Floor, call: ToolCall, plan: Plan | None) -> None:
        self._turn = turn
        self._floor = floor
        self._where: dict[str, Any] = {"thread_id": turn.thread_id, "turn_id": turn.turn_id}
        changes: list[FileUpdateChange] = [] if plan is None else plan.changes
        self._item = FileChangeThreadItem(id=floor.item_id(call), status="inProgress", changes=changes)

    def started(self) -> Emission:
        """It is about to be applied, or waits for a word."""
        event = item.ItemStartedNotification(item=self._item, started_at_ms=_now(), **self._where)
        return Emission(item.STARTED, event)

    def question(self, reason: str | None, text: str, cwd: str) -> Question:
        """May these files be changed?"""
        params = approval.FileChangeRequestApprovalParams(
            item_id=self._item.id, started_at_ms=_now(), reason=reason, origin=list(self._turn.origin), **self._where
        )
        files = [it.path for it in self._item.changes]
        action = Action(
            ApplyPatchGuardianApprovalReviewAction(cwd=cwd, files=files),
            {"tool": "apply_patch", "cwd": cwd, "files": files, "patch": text, "reason": reason},
        )
        refusal = approval.FileChangeRequestApprovalResponse(decision="decline")
        return Question(approval.FILE_CHANGE, params, self.started(), refusal, action=action)

    def declined(self, decided: Decided) -> ToolResult:
        """It is not applied."""
        if decided.cancelled:
            self._floor.stop()
        return ToolResult(decided.refusal, [self._completed("declined")], ok=False)

    def failed(self, why: str) -> ToolResult:
        """It could not be applied."""
        return ToolResult(why, [self._completed("failed")], ok=False)

    def applied(self, told: str, diff: str) -> ToolResult:
        """It is done; `diff` is what the whole turn has changed by now."""
        updated = turns.TurnDiffUpdatedNotification(diff=diff, **self._where)
        return ToolResult(told, [self._completed("completed"), Emission(turns.DIFF_UPDATED, updated)])

    def _completed(self, status: Literal["completed", "failed", "declined"]) -> Emission:
        ended = self._item.model_copy(update={"status": status})
        event = item.ItemCompletedNotification(item=ended, completed_at_ms=_now(), **self._where)
        return Emission(item.COMPLETED, event)


def keys(places: Sequence[str]) -> list[str]:
    """What an approval for the rest of the thread is about: each of the files."""
    return [orjson.dumps(["patch", place]).decode() for place in places]


def _now() -> int:
    return time.time_ns() // 1_000_000
