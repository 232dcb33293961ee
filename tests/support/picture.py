"""The picture of the README: a real chat in a real terminal, with a tree of agents at work, as SVG."""

from __future__ import annotations

import html
import io
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.terminal_theme import MONOKAI
from tests.server.cli.test_chat import Chat, chatting
from tests.support.processes import ROOT

PICTURE = ROOT / "tests" / "server" / "cli" / "chat.svg"
COLUMNS, ROWS = 96, 40
FIRST = "think\necho The **warp** comes first, then the weft: see `loom.md`."
TREE = """\
echo I have a plan; three agents will carry it out.
patch plan.md with Weave first, then look at both sides.
spawn as explorer
  spawn run tail -f loom.md
  wait
spawn as worker run sleep 60
wait"""
WIDTH = 12.2  # of a character, as rich draws it
BLANK = "\xa0"
NEXT = "Write down what they find."
GROWN = r"running.*\n├─ explorer .*running.*\n│  └─ agent .*running · .*loom.md.*\n└─ worker .*running · .*sleep"


async def pane(room: Path) -> str:
    """What a person sees in the end, with its colours."""
    work = room / "work"
    work.mkdir()
    (work / "loom.md").write_text("A loom holds the warp threads under tension.\n")
    async with chatting(room) as chat:
        await chat.terminal.tmux("resize-window", "-t", "0", "-x", str(COLUMNS), "-y", str(ROWS))
        await _talk(chat)
        return await chat.terminal.tmux("capture-pane", "-p", "-e", "-N", "-S", "-", "-t", "0")


async def _talk(chat: Chat) -> None:
    await chat.says(FIRST)
    await chat.sees(r"The warp comes.*\n›\n rehearsal")
    await chat.says(TREE)
    await chat.sees(GROWN)
    await chat.says(NEXT)
    await chat.sees(rf"◷ {NEXT}.*1 queued")


def drawn(shown: str) -> str:
    """A pane as SVG that needs nothing from elsewhere: whoever looks at it has a font of their own."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    shown = re.sub(r"(\n *)+$", "", shown[shown.index("\x1b[0;1m") :])  # from the first bold word to the status line
    for row in AnsiDecoder().decode(shown):  # which remembers a colour from one row to the next
        console.print(row, no_wrap=True, overflow="crop", crop=True)
    picture = console.export_svg(title="threadloom chat", theme=MONOKAI, unique_id="chat")
    picture = re.sub(r"\s*@font-face \{.*?\}\n", "\n", picture, flags=re.DOTALL)
    picture = re.sub(r"<!--.*?-->\s*", "", picture)
    picture = picture.replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")
    return re.sub(r'x="([\d.]+)" (y="[\d.]+") textLength="[\d.]+" ([^>]*)>([^<\n]+)</text>', _placed, picture)


def _placed(it: re.Match[str]) -> str:
    """Words where they stand, without the blanks around them: some viewers drop those, and stretch the rest."""
    text = html.unescape(it[4])
    words = text.strip(BLANK)
    at = float(it[1]) + WIDTH * (len(text) - len(text.lstrip(BLANK)))
    return f'x="{at:.1f}" {it[2]} textLength="{WIDTH * len(words):.1f}" {it[3]}>{_escaped(words)}</text>'


def _escaped(words: str) -> str:
    return html.escape(words, quote=False).replace(BLANK, "&#160;")


def main() -> None:
    """Make it anew, or print the pane alone."""
    with TemporaryDirectory(prefix="loom-") as room:
        shown = anyio.run(pane, Path(room))
        if "--plain" in sys.argv:
            sys.stdout.write(shown)
        else:
            PICTURE.write_text(drawn(shown), encoding="utf-8")


if __name__ == "__main__":
    main()
