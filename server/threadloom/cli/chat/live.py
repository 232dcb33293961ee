"""The part of the screen that is painted again and again: what is in motion, what is asked, and the status line."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from threadloom.cli import render
from threadloom.cli.chat.asks import WORDS, Ask
from threadloom.cli.chat.line import Line
from threadloom.cli.chat.talk import Live, Talk
from threadloom.cli.clean import clean, line, tilde
from threadloom.cli.trees import drawn, ordered
from threadloom_protocol.v2.values.items import (
    AgentMessageThreadItem,
    CommandExecutionThreadItem,
    FileChangeThreadItem,
    ReasoningThreadItem,
)

TAIL: Final = 4000  # characters of a growing text that are looked at: the rest is above the screen anyway
OUTPUT: Final = 6  # lines of a running command's output
BRANCHES: Final = 8  # lines of the tree
PROPOSED: Final = 20  # lines of each diff that an agent asks about
QUEUED: Final = 3  # prompts that wait
LEAST: Final = 3  # lines, however low the window is
BUSY: Final = "  Letters belong to your line: send it (Enter) or clear it (Ctrl-C) to answer with one."
KEYS: Final = {"escape": "esc"}
ORDER: Final = ("model", "cwd", "tokens", "agents", "queue", "connection")  # of the status line


def painted(talk: Talk, line_: Line, width: int, height: int, *, colour: bool) -> str:
    """What is in motion, as escape sequences, no higher than half of the window."""
    rows: list[str] = []
    for view in _moving(talk):
        rows += render.ansi(view, width, colour=colour).rstrip("\n").split("\n")
    rows = rows[-max(height // 2, LEAST) :]
    for view in _around(talk, line_, width):
        rows += render.ansi(view, width, colour=colour).rstrip("\n").split("\n")
    return "\n".join(rows)


def _moving(talk: Talk) -> Iterator[RenderableType]:
    for it in talk.live.values():
        if (view := _live(it)) is not None:
            yield view


def _live(it: Live) -> RenderableType | None:
    rest = it.text[it.printed :][-TAIL:]
    match it.item:
        case AgentMessageThreadItem() if rest.strip():
            return render.markdown(rest)
        case ReasoningThreadItem() if rest.strip():
            return render.reasoning(rest)
        case CommandExecutionThreadItem():
            return render.command(it.item.model_copy(update={"aggregated_output": rest}), OUTPUT)
        case FileChangeThreadItem():
            return render.changes(it.item)
        case _:
            return None


def _around(talk: Talk, line_: Line, width: int) -> Iterator[RenderableType]:
    if any(it.status in ("running", "pendingInit") for it in talk.agents):
        rows = drawn(ordered([it for it in talk.nodes.values() if it.status != "shutdown" or not it.depth]))
        more = [f"… {len(rows) - BRANCHES} more: /tree"] if len(rows) > BRANCHES else []
        yield Text("\n".join(_fit(it, width) for it in [*rows[:BRANCHES], *more]), style="magenta")
    waiting = [*talk.waiting, *line_.unsent]
    for it in waiting[:QUEUED]:
        yield Text(_fit(f"◷ {line(it)}", width), style="dim")
    if len(waiting) > QUEUED:
        yield Text(f"◷ … {len(waiting) - QUEUED} more: /queue", style="dim")
    if talk.waiting and talk.held:
        yield Text(_fit("◷ held: /queue resume lets it run", width), style="yellow")
    if talk.busy and line_.state == "connected":
        yield Text(_fit(f"● working {_time(talk.began)} · esc to interrupt", width), style="dim")


def _fit(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 1)).rstrip() + "…"


def _time(since: float) -> str:
    seconds = int(time.monotonic() - since) if since else 0
    return f"{seconds // 60}m {seconds % 60:02}s" if seconds >= 60 else f"{seconds}s"


def asked(it: Ask, talk: Talk, *, writing: bool = False) -> RenderableType:
    """A question, and what answers it; no letter does while a line is being written."""
    if (question := it.question) is not None:
        return Group(_headed(question.question, it.params, talk), _options(question))
    params = it.params
    command = getattr(params, "command", None)
    text = _headed("May this run?" if command else "May these files be changed?", params, talk)
    if command:
        text.append(f"\n  $ {clean(command)}", style="cyan")
    return Group(text, *_changes(talk, params), _ways(it), *([Text(BUSY, style="yellow")] if writing else []))


def _headed(question: str, params: Any, talk: Talk) -> Text:
    """What is asked, and by whom, where it is an agent."""
    text = Text()
    text.append(clean(question), style="bold yellow")
    if params.thread_id != talk.thread_id or len(getattr(params, "origin", None) or ()) > 1:
        text.append(f"  (asked by agent {params.thread_id})", style="dim")
    return text


def _changes(talk: Talk, params: Any) -> Iterator[RenderableType]:
    """Which files: the diff of this thread stands above already, one of an agent is seen nowhere else."""
    own = talk.live.get(params.item_id)
    if own is not None and isinstance(own.item, FileChangeThreadItem):
        yield Text("\n".join(f"  ± {clean(it.path)}" for it in own.item.changes), style="bold")
    elif (theirs := talk.proposed.get(params.item_id)) is not None:
        yield Padding(render.changes(theirs, PROPOSED), (0, 0, 0, 2))


def _ways(it: Ask) -> Text:
    """Why it is asked, and which key says what."""
    text = Text()
    for label in filter(None, (it.params.reason, getattr(it.params, "grant_root", None))):
        text.append(f"  {clean(label)}\n", style="dim")
    for key, decision in it.keys.items():
        text.append(f"  {KEYS.get(key, key):>3}  ", style="bold")
        text.append(f"{WORDS[decision]}\n")
    text.rstrip()
    return text


def _options(question: Any) -> Text:
    """What can be answered, and how."""
    text = Text()
    for number, it in enumerate(question.options or [], 1):
        text.append(f"  {number}  {clean(it.label)}", style="bold")
        text.append(f"  {clean(it.description)}".rstrip() + "\n", style="dim")
    text.append("  a number, or your own words" if question.options else "  your own words", style="dim")
    return text.append(" · esc for no answer", style="dim")


def status(talk: Talk, line_: Line, width: int, place: str) -> str:
    """The status line: as much of it as the window is wide, the most telling first."""
    agents = len(talk.agents)
    waiting = len(talk.waiting) + len(line_.unsent)
    parts = {  # each in the form that is liked best, then shorter ones
        "model": [talk.model],
        "agents": [f"{agents} agent{'s' * (agents != 1)}" if agents else ""],
        "connection": [place, "connected"] if line_.state == "connected" else [line_.state],
        "queue": [f"{waiting} queued" if waiting else ""],
        "cwd": [tilde(talk.cwd), os.path.basename(talk.cwd)],
        "tokens": [f"{_count(talk.tokens)} tokens"],
    }
    kept: dict[str, str] = {}
    for name, forms in parts.items():
        for form in filter(None, forms):
            if cell_len(_joined({**kept, name: form})) <= width:
                kept[name] = form
                break
    return _joined(kept)


def _joined(parts: Mapping[str, str]) -> str:
    return " " + " · ".join(parts[it] for it in ORDER if it in parts)


def _count(number: int) -> str:
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"
