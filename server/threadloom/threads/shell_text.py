"""What the model reads of the commands that a person ran."""

from __future__ import annotations

from typing import Final

from threadloom.agent.history import user_item
from threadloom.agent.sampling import Item
from threadloom.exec.output import for_model
from threadloom.threads.recall import INPUT
from threadloom_protocol.v2.values.items import CommandExecutionThreadItem

NEVER_RAN: Final = -1  # the exit code of one that was not there to have one

# How models of this kind know what a person ran beside the conversation.
TOLD: Final = """\
<user_shell_command>
<command>
{command}
</command>
<result>
Exit code: {code}
Duration: {seconds:.4f} seconds
Output:
{output}
</result>
</user_shell_command>"""


def told(command: str, code: int, seconds: float, output: str, max_tokens: int | None = None) -> list[Item]:
    """What the model reads of it: facts that a person brought, and no words to be answered."""
    text = TOLD.format(command=command, code=code, seconds=seconds, output=for_model(output, max_tokens))
    return [{"@": INPUT}, user_item(text)]


def cut(item: CommandExecutionThreadItem) -> list[Item]:
    """What the model reads of one whose end nobody saw."""
    return told(item.command, NEVER_RAN, (item.duration_ms or 0) / 1000, item.aggregated_output or "")
