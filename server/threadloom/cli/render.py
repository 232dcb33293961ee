"""Items as a person reads them: Markdown, commands with their output, diffs in colour."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from threadloom.cli.clean import clean, line, tilde
from threadloom.cli.output import cut
from threadloom_protocol.v2.values.items import (
    AgentMessageThreadItem,
    CollabAgentToolCallThreadItem,
    CommandExecutionThreadItem,
    ContextCompactionThreadItem,
    DynamicToolCallThreadItem,
    EnteredReviewModeThreadItem,
    ExitedReviewModeThreadItem,
    FileChangeThreadItem,
    McpToolCallThreadItem,
    PlanThreadItem,
    ReasoningThreadItem,
    UserMessageThreadItem,
    WebSearchThreadItem,
)

OUTPUT: Final = 20  # lines of a command's output that are shown once it has ended
DIFF: Final = 200  # lines of a diff
STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}
KINDS: Final = {"add": "added", "delete": "deleted", "update": "changed"}
TOOLS: Final = {
    "spawnAgent": "started",
    "sendInput": "told",
    "resumeAgent": "took up",
    "wait": "waited for",
    "closeAgent": "closed",
    "listAgents": "looked at its agents",
}


def shown(item: Any) -> RenderableType | None:
    """An item that is done; None where there is nothing to see."""
    match item:
        case UserMessageThreadItem():
            return prompt(item)
        case AgentMessageThreadItem(text=text) if text:
            return markdown(text)
        case ReasoningThreadItem() if text := "\n\n".join([*item.summary, *item.content]):
            return reasoning(text)
        case CommandExecutionThreadItem():
            return command(item)
        case FileChangeThreadItem():
            return changes(item)
        case CollabAgentToolCallThreadItem():
            return collaboration(item)
        case PlanThreadItem(text=text):
            return markdown(text)
        case McpToolCallThreadItem() | DynamicToolCallThreadItem():
            return _tool(item)
        case WebSearchThreadItem(query=query):
            return _beside(f"searched the web for {line(query, 100)}")
        case EnteredReviewModeThreadItem(review=text):
            return _beside(f"a review begins: {line(text, 100)}")
        case ExitedReviewModeThreadItem(review=text):
            return Group(_beside("the review is done"), markdown(text))
        case ContextCompactionThreadItem():
            return _beside("what the model sees of this conversation is condensed from here on")
        case _:
            return None


def _tool(item: McpToolCallThreadItem | DynamicToolCallThreadItem) -> RenderableType:
    where = item.server if isinstance(item, McpToolCallThreadItem) else item.namespace
    given = json.dumps(item.arguments, ensure_ascii=False)
    how = f" ({item.status})" if item.status != "completed" else ""
    return _beside(f"{f'{where}.' if where else ''}{item.tool} {given}", how)


def _beside(text: str, end: str = "") -> Text:
    """What was done beside talking, in a line."""
    return Text(f"⋔ {line(text, 120)}{end}", style="magenta")


def prompt(item: UserMessageThreadItem) -> RenderableType:
    """What a person said, or what a child reported in their place."""
    parts = [getattr(it, "text", None) or f"[{it.type}]" for it in item.content]
    text = clean("\n".join(parts)).strip()
    if item.report is not None:
        return Text(f"◂ {text}", style="dim")
    return Text("\n".join(f"{'›' if not at else ' '} {it}" for at, it in enumerate(text.split("\n"))), style="bold")


def markdown(text: str) -> RenderableType:
    """What an agent said."""
    return Markdown(clean(text), code_theme="ansi_dark", hyperlinks=False)


def reasoning(text: str) -> RenderableType:
    """What the model thought, set apart."""
    return Markdown(clean(text).strip(), style="dim italic", code_theme="ansi_dark", hyperlinks=False)


def command(item: CommandExecutionThreadItem, most: int = OUTPUT) -> RenderableType:
    """A command, the end of its output, and how it ended."""
    return Group(
        Text(f"$ {clean(item.command)}", style="cyan"), *output(item.aggregated_output or "", most), *_end(item)
    )


def output(text: str, most: int) -> Iterable[RenderableType]:
    """The last lines of an output."""
    lines = clean(text).rstrip("\n").split("\n") if text.strip() else []
    if len(lines) > most:
        yield Text(f"  … {len(lines) - most} lines more", style="dim")
    if lines:
        yield Padding(Text("\n".join(lines[-most:])), (0, 0, 0, 2))


def _end(item: CommandExecutionThreadItem) -> Iterable[RenderableType]:
    if item.status == "declined":
        yield Text("  declined", style="yellow")
    elif item.status == "failed" or item.exit_code:
        yield Text(f"  exit code {item.exit_code}" if item.exit_code is not None else "  failed", style="red")


def changes(item: FileChangeThreadItem, most: int = DIFF) -> RenderableType:
    """Files and what changes in them."""
    parts: list[RenderableType] = []
    for it in item.changes:
        done = KINDS[it.kind.type] if item.status in ("completed", "inProgress") else item.status
        parts += [
            Text(f"± {clean(tilde(it.path))} ({done})", style="bold"),
            diff(it.diff, most, added=it.kind.type == "add"),
        ]
    return Group(*parts)


def diff(text: str, most: int = DIFF, *, added: bool = False) -> Text:
    """A unified diff; a new file comes as its lines alone."""
    lines = clean(text).rstrip("\n").split("\n")
    made = Text()
    for number, it in enumerate(lines[:most]):
        plain = f"+{it}" if added and not it.startswith(("+", "@")) else it
        made.append(("\n" if number else "") + f"  {plain}", style=STYLES.get(plain[:1], ""))
    if len(lines) > most:
        made.append(f"\n  … {len(lines) - most} lines more", style="dim")
    return made


def collaboration(item: CollabAgentToolCallThreadItem) -> RenderableType:
    """What an agent did with other agents."""
    who = ", ".join(cut(item.receiver_thread_ids).values())
    said = f": {line(item.prompt, 100)}" if item.prompt else ""
    return Text(f"⋔ {TOOLS.get(item.tool, item.tool)} {who}{said}".rstrip(), style="magenta")


def ansi(what: RenderableType, width: int, *, colour: bool = True) -> str:
    """As text with escape sequences, for a terminal of this width."""
    console = Console(
        width=max(width, 10), force_terminal=True, color_system="standard" if colour else None, no_color=not colour,
        highlight=False, legacy_windows=False,
    )  # fmt: skip
    with console.capture() as captured:
        console.print(what)
    return captured.get()


def plain(what: RenderableType, width: int = 100) -> str:
    """As text alone."""
    console = Console(width=width, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as captured:
        console.print(what)
    return "\n".join(it.rstrip() for it in captured.get().split("\n"))
