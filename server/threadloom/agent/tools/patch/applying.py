"""How a patch becomes files: read, planned, shown, decided, applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.floor import Floor
from threadloom.agent.sampling import ToolCall
from threadloom.agent.tools.base import refused
from threadloom.agent.tools.deciding import Review, decide
from threadloom.agent.tools.patch.edits import Edits
from threadloom.agent.tools.patch.item import FileChange, keys
from threadloom.agent.tools.permission import CLOSED, Refuse, Run, patch_verdict
from threadloom.exec.base import Fence
from threadloom.exec.fence import fence_of
from threadloom.exec.patch import Guard, PatchError, Plan, inside, outside, parse, plan
from threadloom.exec.sandbox.guards import guarded, writable
from threadloom_protocol.v2.values.policy import AskForApproval


async def applied(turn: TurnInput, call: ToolCall, text: str, cwd: str, review: Review | None) -> ToolResult:
    """Change the files that a patch names, all of them or none. A broken one is no item: only the model hears."""
    floor, settings = turn.floor, turn.settings
    if floor is None or settings is None:
        return refused("No files can be changed here.")
    edits = turn.edits = turn.edits or Edits(turn.cwd)
    fence = fence_of(settings.sandbox_policy, turn.cwd)
    attempt = _Attempt(turn, floor, call, text, cwd, fence, edits, review)
    return await (attempt.go_on() if floor.asked(call) else attempt.begin(settings.approval_policy))


@dataclass(slots=True)
class _Attempt:
    """One patch in one turn."""

    turn: TurnInput
    floor: Floor
    call: ToolCall
    text: str
    cwd: str
    fence: Fence
    edits: Edits
    review: Review | None
    kept: Sequence[str] = ()  # what no patch changes unasked, wherever it lies

    async def begin(self, policy: AskForApproval) -> ToolResult:
        """Apply it, or have it decided first."""
        async with self.edits.lock:  # the next patch is planned on what this one leaves
            try:
                planned = await self._plan()
            except PatchError as broken:
                return refused(f"The patch does not work, and no file has changed.\n{broken}")
            beyond = self._outside(planned)
            if beyond and self.turn.read_only:
                return refused(CLOSED)
            permission = patch_verdict(policy, self.fence, beyond)
            if isinstance(permission, Refuse):
                return refused(permission.why)
            change = FileChange(self.turn, self.floor, self.call, planned)
            if isinstance(permission, Run):
                self.floor.emit(change.started())
                return await self._apply(change, planned)
        return await self._decided(change, planned, permission.reason)

    async def go_on(self) -> ToolResult:
        """Somebody is asked since an earlier life of the server; the files may not be what they were."""
        try:
            planned = await self._plan()
            self._check_ways(planned)
        except PatchError as broken:
            gone = FileChange(self.turn, self.floor, self.call, None)
            return await self._decided(gone, None, broken=str(broken))
        return await self._decided(FileChange(self.turn, self.floor, self.call, planned), planned)

    async def _decided(
        self, change: FileChange, planned: Plan | None, reason: str | None = None, broken: str = ""
    ) -> ToolResult:
        """Apply it once somebody has said yes; without a plan, all that is left to tell is why there is none."""
        places = [] if planned is None else planned.places
        question = change.question(reason, self.text, self.cwd)
        decided = await decide(self.turn, self.call, question, keys(places), self.review)
        if not decided.yes:
            return change.declined(decided)
        if planned is None:
            return change.failed(f"The patch does not work any more, and no file has changed.\n{broken}")
        if not decided.asked:
            self.floor.emit(change.started())
        async with self.edits.lock:
            return await self._apply(change, planned, places)

    async def _apply(self, change: FileChange, planned: Plan, also: Sequence[str] = ()) -> ToolResult:
        """In a thread, and to its end: a turn that is interrupted leaves no patch half done, and none untold."""
        with anyio.CancelScope(shield=True):
            try:
                left, diff = await anyio.to_thread.run_sync(self.edits.apply, planned, self._guard(also))
            except PatchError as fault:
                return change.failed(str(fault))
        told = [planned.summary(), *(f"Could not be removed: {it}" for it in left)]
        return change.applied("\n".join(told), diff)

    async def _plan(self) -> Plan:
        """Worked out off the loop, diffs included. Raises `PatchError`."""

        def work() -> tuple[Plan, Sequence[str]]:
            made = plan(parse(self.text), self.cwd)
            _ = made.changes
            return made, self._guarded()

        made, self.kept = await anyio.to_thread.run_sync(work)
        return made

    def _check_ways(self, planned: Plan) -> None:
        """A link that was laid since leads where nobody was asked about. Raises `PatchError`."""
        for place in self._outside(planned):
            if (name := planned.names[place]) != place:
                raise PatchError(f"{name} leads to {place} by a link.")

    def _guarded(self) -> Sequence[str]:
        """What commands must leave as it is: a repository may lie beside the `.git` that leads to it."""
        roots = writable(self.fence)
        return [*self.fence.kept, *(it for cwd in {self.cwd, self.turn.cwd} for it in guarded(roots, cwd))]

    def _outside(self, planned: Plan) -> list[str]:
        if self.fence.mode == "danger-full-access":
            return []
        return outside(planned, self.fence.writable_roots, kept=self.kept)

    def _guard(self, also: Sequence[str]) -> Guard:
        if self.fence.mode == "danger-full-access":
            return lambda place: None
        return inside(self.fence.writable_roots, kept=self.kept, also=also)
