"""What a turn has changed in files."""

from __future__ import annotations

import anyio

from threadloom.exec.patch import Changes, Guard, Plan, apply


class Edits:
    """The patches of one turn: one at a time, and the running diff of them."""

    def __init__(self, cwd: str) -> None:
        self.lock = anyio.Lock()
        self._changes = Changes(cwd)

    def apply(self, plan: Plan, guard: Guard) -> tuple[list[str], str]:
        """Change the files: what was left behind, and the diff of the turn by now. Blocks. Raises `PatchError`."""
        left = apply(plan, guard)
        self._changes.add(plan)
        return left, self._changes.diff()
