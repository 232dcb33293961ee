"""The commands for people and their scripts: their words and flags."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from threadloom.cli.late import late
from threadloom.digits import number

Common = Callable[[argparse.ArgumentParser], None]

SHELLS = ("bash", "zsh", "fish")
SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
POLICIES = ("untrusted", "on-request", "never")
MEANT = "a saved name, a thread's id, or its first 8 or more characters"


def add(commands: Any, common: Common) -> None:
    """Every command that talks to a server as a client does."""
    make = _Maker(commands, common)
    _talking(make)
    _looking(make)
    _changing(make)
    completion = commands.add_parser("completion", help="print a completion script for a shell")
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(run=late("threadloom.cli.completion", "run"))


class _Maker:
    """Makes commands that share the flags of where the server is."""

    def __init__(self, commands: Any, common: Common) -> None:
        self._commands = commands
        self._common = common

    def __call__(
        self, name: str, text: str, module: str, function: str = "run", *, commands: Any = None
    ) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = (commands or self._commands).add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}."
        )
        self._common(made)
        made.add_argument("--connect", metavar="URL", help="use the server at ws://…, wss://… or unix://…")
        made.add_argument("--token-file", metavar="FILE", help="file that holds its token (else $THREADLOOM_TOKEN)")
        made.add_argument("--json", action="store_true", help="JSON, one object per line")
        made.set_defaults(run=late(f"threadloom.cli.{module}", function))
        return made


def _settings(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", metavar="MODEL", help="the model to use")
    parser.add_argument("-C", "--cd", metavar="DIR", help="the folder to work in (default: this one)")
    parser.add_argument("-s", "--sandbox", choices=SANDBOXES, help="what commands may touch")
    parser.add_argument("-a", "--approval", choices=POLICIES, help="when to ask before something is done")


def _talking(make: _Maker) -> None:
    chat = make("chat", "talk to an agent in this terminal", "chat")
    chat.add_argument("prompt", nargs="?", metavar="PROMPT", help="what to begin with")
    _settings(chat)
    errand = make("exec", "run one turn: the last message on stdout, progress on stderr", "exec")
    errand.add_argument("prompt", nargs="?", metavar="PROMPT", help="what to do; `-` or nothing reads it from stdin")
    errand.add_argument("--output-schema", metavar="FILE", help="JSON Schema that the last message has to fit")
    _settings(errand)
    for name, text in (
        ("resume", "go on with a thread, wherever it has got to"),
        ("fork", "begin a new thread from a saved point, or from the end of another thread"),
    ):
        again = make(name, text, "again", name)
        again.add_argument("session", nargs="?" if name == "resume" else None, metavar="ID|NAME", help=MEANT)
        _by_id(again)
        if name == "resume":
            again.add_argument("--last", action="store_true", help="the thread that was used last")
        _settings(again)


def _looking(make: _Maker) -> None:
    listing = make("list", "list threads, the latest first", "lists", "threads")
    _limit(listing)
    listing.add_argument("--here", action="store_true", help="only those that work in this folder")
    search = make("search", "find threads by what was said in them", "lists", "search")
    search.add_argument("words", nargs="+", metavar="WORDS")
    _limit(search)
    for it in (listing, search):
        it.add_argument("--archived", action="store_true", help="those in the archive instead")
        it.add_argument("--agents", action="store_true", help="with the threads that other threads own")
    show = make("show", "show a thread and what was said in it", "show")
    show.add_argument("thread", metavar="ID", help=MEANT)
    tree = make("tree", "show the tree of agents that a thread belongs to", "trees", "tree")
    tree.add_argument("thread", nargs="?", metavar="ID", help=f"{MEANT}; without it, the thread that was used last")
    agents = make("agents", "list the kinds of agents there are, or the agents of a thread", "trees", "agents")
    agents.add_argument("thread", nargs="?", metavar="ID", help=f"{MEANT}; without it, the kinds of agents")
    agents.add_argument("--closed", action="store_true", help="with those that are closed")
    for it in (show, tree, agents):
        _by_id(it)


def _by_id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--id", action="store_true", help="it is an id: do not look at saved names")


def _limit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--limit", type=_count, default=25, metavar="N", help="at most so many (default 25)")


def _count(text: str) -> int:
    count = number(text)
    if not count:
        raise argparse.ArgumentTypeError(f"takes a number from 1 on, not {text!r}")
    return count


def _changing(make: _Maker) -> None:
    for name, text in (
        ("archive", "put threads away, with all they own"),
        ("unarchive", "take threads out of the archive again"),
        ("delete", "delete threads for good, with all they own"),
    ):
        change = make(name, text, "acts", name)
        change.add_argument("threads", nargs="+", metavar="ID", help=MEANT)
        _by_id(change)
        if name == "delete":
            change.add_argument("-y", "--yes", action="store_true", help="do not ask")
            change.add_argument("--purge", action="store_true", help="also what saved names and forks still need")
    session = make._commands.add_parser("session", help="saved sessions", description="Saved sessions.")
    kinds = session.add_subparsers(title="commands", required=True, metavar="COMMAND")
    make("list", "list saved sessions, the latest first", "lists", "sessions", commands=kinds)
    save = make("save", "give the point where a thread stands a name", "acts", "save", commands=kinds)
    save.add_argument("name", metavar="NAME")
    save.add_argument("thread", nargs="?", metavar="ID", help=f"{MEANT}; without it, the thread that was used last")
    _by_id(save)
    forget = make("delete", "forget a saved name; the thread stays", "acts", "forget", commands=kinds)
    forget.add_argument("name", metavar="NAME")
