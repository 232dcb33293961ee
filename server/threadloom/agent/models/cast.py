"""Agents in a script of the rehearsal model: the lines that concern them, and how they are told apart."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from textwrap import dedent
from typing import Any, Final, NamedTuple

import orjson

from threadloom.agent.history import text_of
from threadloom.agent.sampling import Item

EVERYONE: Final = "agents"  # who is waited for, where that is everyone
MAKERS: Final = {"spawn_agent": ("agent", "agent_id"), "create_session": ("session", "session_id")}

_REFERENCE: Final = re.compile(r"(?:agent|session) \d{1,7}")
_AND: Final = re.compile(r"and (.+)")

Arguments = dict[str, Any]


class Line(NamedTuple):
    """A call that a line stands for."""

    tool: str
    arguments: Arguments
    joined: bool = False


def _spawn(text: str, kind: str | None) -> Arguments:
    return {"message": text} if kind is None else {"message": text, "agent_type": kind}


# Those that take words: on the line, or on lines below that are indented more, or both.
_SPOKEN: Final[list[tuple[re.Pattern[str], Callable[..., tuple[str, Arguments]]]]] = [
    (
        re.compile(r"spawn(?: as (?P<kind>\S+))?(?: (?P<text>.+))?"),
        lambda text, kind: ("spawn_agent", _spawn(text, kind)),
    ),
    (
        re.compile(r"message (?P<who>agent \d{1,7})(?:: ?(?P<text>.*))?"),
        lambda text, who: ("send_input", {"id": who, "message": text}),
    ),
    (
        re.compile(r"interrupt (?P<who>agent \d{1,7})(?:: ?(?P<text>.*))?"),
        lambda text, who: ("send_input", {"id": who, "message": text, "interrupt": True}),
    ),
]
_PLAIN: Final[list[tuple[re.Pattern[str], Callable[..., tuple[str, Arguments]]]]] = [
    (re.compile(r"wait for (?P<who>agent \d{1,7}|agents)"), lambda who: ("wait", {"ids": [who]})),
    (re.compile(r"close (?P<who>agent \d{1,7})"), lambda who: ("close_agent", {"id": who})),
    (re.compile(r"resume (?P<who>agent \d{1,7})"), lambda who: ("resume_agent", {"id": who})),
]


def spoken(line: str, below: deque[str]) -> Line | None:
    """The call that a line stands for, if it concerns agents; it takes what it needs of the lines below."""
    text, joined = line.strip(), False
    if (found := _AND.fullmatch(text)) is not None:
        text, joined = found[1], True
    for form, make in _PLAIN:
        if (found := form.fullmatch(text)) is not None:
            return Line(*make(**found.groupdict()), joined)
    for form, make in _SPOKEN:
        if (found := form.fullmatch(text)) is not None:
            groups = found.groupdict()
            words = "\n".join([*filter(None, [groups.pop("text")]), *_block(_indent(line), below)])
            return Line(*make(text=words, **groups), joined)
    return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block(depth: int, below: deque[str]) -> list[str]:
    """The lines that are indented more, as if they were not."""
    taken: list[str] = []
    while below and (not below[0].strip() or _indent(below[0]) > depth):
        taken.append(below.popleft())
    return dedent("\n".join(taken)).rstrip().splitlines() if any(map(str.strip, taken)) else []


def everyone(arguments: str, there: int) -> list[str] | None:
    """Where everyone is waited for: the arguments of the waits, one for each agent there is by then."""
    if arguments != orjson.dumps({"ids": [EVERYONE]}).decode():
        return None
    return [orjson.dumps({"ids": [f"agent {number}"]}).decode() for number in range(1, there + 1)]


def resolved(arguments: str, history: Sequence[Item]) -> str:
    """Arguments with ids in the place of `agent 1`, `session 2` and the like; who is not there stays as written."""
    if not _REFERENCE.search(arguments):
        return arguments
    try:
        return orjson.dumps(_replaced(orjson.loads(arguments), _known(history))).decode()
    except orjson.JSONDecodeError:
        return arguments


def _known(history: Iterable[Item]) -> dict[str, str]:
    """The ids of all that were made, by the order of the calls that made them."""
    outputs = {it.get("call_id"): it for it in history if it.get("type") == "function_call_output"}
    known: dict[str, str] = {}
    counts = dict.fromkeys(MAKERS, 0)
    for it in history:
        if it.get("type") == "function_call" and (name := str(it.get("name"))) in MAKERS:
            counts[name] += 1
            what, member = MAKERS[name]
            made = _member(outputs.get(it.get("call_id"), {}), member)
            if made is not None:
                known[f"{what} {counts[name]}"] = made
    return known


def _member(output: Item, name: str) -> str | None:
    try:
        told = orjson.loads(text_of(output.get("output")))
    except orjson.JSONDecodeError:
        return None
    found = told.get(name) if isinstance(told, dict) else None
    return found if isinstance(found, str) else None


def _replaced(value: Any, known: dict[str, str]) -> Any:
    match value:
        case str():
            return known.get(value, value)
        case list():
            return [_replaced(it, known) for it in value]
        case dict():
            return {key: _replaced(it, known) for key, it in value.items()}
    return value
