"""Commands as tools: in the fence of the thread, or outside once somebody agreed."""

from __future__ import annotations

from threadloom.agent.tools.command.running import Commands as Commands
from threadloom.agent.tools.command.running import Environment as Environment
from threadloom.agent.tools.command.tools import ExecCommand as ExecCommand
from threadloom.agent.tools.command.tools import RunInShell as RunInShell
from threadloom.agent.tools.command.tools import WriteToStdin as WriteToStdin
from threadloom.agent.tools.command.tools import command_tools as command_tools
