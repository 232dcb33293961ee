"""`apply_patch`: the model changes files."""

from __future__ import annotations

from threadloom.agent.base import ToolResult, TurnInput
from threadloom.agent.sampling import Item, ToolCall
from threadloom.agent.tools.base import Freeform, parsed
from threadloom.agent.tools.deciding import Review
from threadloom.agent.tools.patch.spec import FREEFORM, FUNCTION
from threadloom_protocol.model import Snake


class Input(Snake):
    """The arguments of `apply_patch`, where it is a function."""

    input: str


class Patches:
    """Applies patches for the tool, and for commands that are one."""

    def __init__(self, review: Review | None = None) -> None:
        self._review = review

    async def apply(self, turn: TurnInput, call: ToolCall, text: str, cwd: str) -> ToolResult:
        """Change the files that a patch names, all of them or none."""
        from threadloom.agent.tools.patch.applying import applied  # not before there is one

        return await applied(turn, call, text, cwd, self._review)


class ApplyPatch(Freeform):
    """Change files, as a patch says."""

    name = "apply_patch"

    def __init__(self, patches: Patches) -> None:
        self._patches = patches

    def spec(self) -> Item:
        """As the model is told of it."""
        return FUNCTION

    def freeform(self) -> Item:
        """The same, for a model that can write plain text to a tool."""
        return FREEFORM

    async def run(self, turn: TurnInput, call: ToolCall) -> ToolResult:
        """Apply it."""
        if call.freeform:
            return await self._patches.apply(turn, call, call.arguments, turn.cwd)
        asked = parsed(Input, call)
        if isinstance(asked, ToolResult):
            return asked
        return await self._patches.apply(turn, call, asked.input, turn.cwd)
