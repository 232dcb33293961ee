"""The lines that tell the rehearsal model what to do."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import orjson

from threadloom.agent.models.cast import everyone, spoken


class Say(NamedTuple):
    """Say so many words."""

    words: int


class Echo(NamedTuple):
    """Say this."""

    text: str


class Think(NamedTuple):
    """Show some reasoning."""


class Slow(NamedTuple):
    """From here on, wait before each piece."""

    ms: int


class Pieces(NamedTuple):
    """From here on, so many words to a piece."""

    words: int


class Call(NamedTuple):
    """Call a tool; `joined` calls go out together with the one before, `freeform` ones in plain text."""

    tool: str
    arguments: str
    joined: bool = False
    freeform: bool = False


class Fail(NamedTuple):
    """Fail as a provider does."""

    text: str


class Wait(NamedTuple):
    """Say nothing more until steered or interrupted."""


Step = Say | Echo | Think | Slow | Pieces | Call | Fail | Wait

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
JUSTIFICATION: Final = "You told the rehearsal model to run this outside the sandbox."
FAILURE: Final = "The rehearsal model was asked to fail, and did."

_NUMBER = r"(\d{1,7})"
_FORMS: Final[list[tuple[re.Pattern[str], Callable[..., Step]]]] = [
    (re.compile(rf"say {_NUMBER} words?"), lambda number: Say(int(number))),
    (re.compile(r"echo (.+)"), Echo),
    (re.compile(r"think"), Think),
    (re.compile(rf"slow {_NUMBER} ms"), lambda number: Slow(int(number))),
    (re.compile(rf"pieces of {_NUMBER} words?"), lambda number: Pieces(max(1, int(number)))),
    (re.compile(r"call (\S+)(?: (.*))?"), lambda tool, arguments: Call(tool, arguments or "{}")),
    (re.compile(r"and call (\S+)(?: (.*))?"), lambda tool, arguments: Call(tool, arguments or "{}", joined=True)),
    (re.compile(r"run outside the sandbox (.+)"), lambda cmd: _run(cmd, outside=True)),
    (re.compile(r"run (.+)"), lambda cmd: _run(cmd)),
    (re.compile(r"patch (\S+) with (.+)"), lambda path, text: _patch(path, text)),
    (re.compile(r"ask (.+?\?)(?: (.+))?"), lambda question, options: _ask(question, options)),
    (re.compile(r"fail(?: (.+))?"), lambda text: Fail(text or FAILURE)),
    (re.compile(r"wait"), Wait),
]


def _run(cmd: str, *, outside: bool = False) -> Call:
    asked = {"sandbox_permissions": "require_escalated", "justification": JUSTIFICATION} if outside else {}
    return Call("exec_command", orjson.dumps({"cmd": cmd, **asked}).decode())


def _ask(question: str, options: str | None) -> Call:
    offered = [{"label": it.strip(), "description": ""} for it in (options or "").split("|") if it.strip()]
    asked = {"id": "answer", "header": "Rehearsal", "question": question, "options": offered or None}
    return Call("request_user_input", orjson.dumps({"questions": [asked]}).decode())


def _patch(path: str, text: str) -> Call:
    lines = (BEGIN, f"*** Add File: {path}", f"+{text}", END)
    return Call("apply_patch", orjson.dumps({"input": "\n".join(lines)}).decode())


def parse(prompt: str) -> list[Step]:
    """The steps in a prompt, in order; lines that are none are passed over. A whole patch is one step."""
    lines = deque(prompt.splitlines())
    steps: list[Step] = []
    while lines:
        line = lines.popleft()
        if line.strip() == BEGIN:
            steps.append(Call("apply_patch", "\n".join([BEGIN, *_patched(lines)]), freeform=True))
        elif (call := spoken(line, lines)) is not None:
            steps.append(Call(call.tool, orjson.dumps(call.arguments).decode(), call.joined))
        elif (step := _step(line.strip())) is not None:
            steps.append(step)
    return steps


def _patched(lines: deque[str]) -> Iterator[str]:
    """The rest of a patch, down to its last line."""
    while lines:
        line = lines.popleft()
        yield line
        if line.strip() == END:
            return


def _step(line: str) -> Step | None:
    for form, make in _FORMS:
        if (found := form.fullmatch(line)) is not None:
            return make(*found.groups())
    return None


def upcoming(steps: list[Step], called: int) -> list[Step]:
    """What is left once so many calls have been made; a pace that was set before them still holds."""
    calls = [at for at, step in enumerate(steps) if isinstance(step, Call)][:called]
    left = calls[-1] + 1 if calls else 0
    return [step for step in steps[:left] if isinstance(step, Slow | Pieces)] + steps[left:]


def complete(steps: list[Step], there: int) -> list[Step]:
    """The steps with a wait for each agent, where everyone is waited for; so many were `there` before."""
    whole: list[Step] = []
    for step in steps:
        waits = everyone(step.arguments, there) if isinstance(step, Call) and step.tool == "wait" else None
        if waits is None:
            whole.append(step)
        else:
            whole += [Call("wait", arguments, joined=at > 0) for at, arguments in enumerate(waits)]
        there += isinstance(step, Call) and step.tool == "spawn_agent"
    return whole
