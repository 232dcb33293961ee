"""`threadloom resume` and `fork`: back into a thread, or off from a point in one; in a terminal, with a chat."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from typing import Final, Literal

from threadloom.cli import find, trees
from threadloom.cli.clean import line
from threadloom.cli.exec import folder
from threadloom.cli.link import FAILED, OK, USAGE, Failure, Place, fail
from threadloom.cli.link import run as run_command
from threadloom.cli.output import as_json, in_terminal, moment, note, write
from threadloom.digits import number
from threadloom_client import Client
from threadloom_protocol.v2 import search, session, settings
from threadloom_protocol.v2.values.policy import (
    DangerFullAccessSandboxPolicy,
    ReadOnlySandboxPolicy,
    WorkspaceWriteSandboxPolicy,
)
from threadloom_protocol.v2.values.threads import Thread

RECENT: Final = 10  # threads to choose from
SANDBOXES: Final = {
    "read-only": ReadOnlySandboxPolicy,
    "workspace-write": WorkspaceWriteSandboxPolicy,
    "danger-full-access": DangerFullAccessSandboxPolicy,
}


def resume(arguments: Namespace) -> int:
    """`threadloom resume`: the thread itself, wherever it has got to."""
    if arguments.session is None and not arguments.last and not _talks(arguments):
        return fail("resume which? threadloom resume ID|NAME, or --last", USAGE)
    if arguments.session is not None and arguments.last:
        return fail("--last and ID|NAME exclude each other", USAGE)
    if _talks(arguments):
        return _settle(arguments) or _chat(arguments, "resume")

    async def work(place: Place) -> int:
        check_folder(arguments)
        async with place.client() as client:
            meant = await _which(client, arguments)
            params = session.SessionResumeParams(
                session=meant, by_id=arguments.id or arguments.last, exclude_turns=True
            )
            answer = await client.request(session.RESUME, params)
            if further := moved(answer):
                note(f"threadloom: {further}; `threadloom fork {shlex.quote(meant)}` goes back there")
            await _opened(client, arguments, answer.thread)
        return OK

    return run_command(arguments, work)


def fork(arguments: Namespace) -> int:
    """`threadloom fork`: a new thread with the same past."""
    if _talks(arguments):
        return _chat(arguments, "fork")

    async def work(place: Place) -> int:
        check_folder(arguments)
        async with place.client() as client:
            params = session.SessionForkParams(session=arguments.session, by_id=arguments.id, exclude_turns=True)
            await _opened(client, arguments, (await client.request(session.FORK, params)).thread)
        return OK

    return run_command(arguments, work)


def check_folder(arguments: Namespace) -> None:
    """A folder that is not there is found out before anything is made."""
    if arguments.cd:
        folder(arguments)


def moved(answer: session.SessionResumeResponse) -> str | None:
    """How far a saved thread has gone on."""
    if answer.moved is None or not answer.moved.turns:
        return None
    return f"{answer.moved.turns} turn{'s' * (answer.moved.turns != 1)} further than when it was saved"


async def _which(client: Client, arguments: Namespace) -> str:
    """The thread that is meant by the words of the command, or chosen by the person."""
    if arguments.session is not None:
        return str(arguments.session)
    return await (trees.last(client) if arguments.last else _choose(client))


async def _choose(client: Client) -> str:
    params = search.ThreadListParams(sort_key="recency_at")
    found = [it async for it in find.threads(client, params, RECENT)]
    if not found:
        raise Failure("there is no thread yet. `threadloom chat` begins one.", FAILED)
    for at, it in enumerate(found, 1):
        note(f"{at:3}  {moment(it.recency_at or it.updated_at)}  {line(it.name or it.preview, 60)}")
    sys.stderr.write("Which one? [1] ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip() or "1"
    chosen = number(answer) or 0
    if not 0 < chosen <= len(found):
        raise Failure(f"there is no number {answer} here", FAILED)
    return found[chosen - 1].id


def _settle(arguments: Namespace) -> int:
    """Find out which thread is meant before a chat takes the terminal."""

    async def work(place: Place) -> int:
        async with place.client() as client:
            arguments.session, arguments.id = await _which(client, arguments), True
        return OK

    return OK if arguments.session is not None else run_command(arguments, work)


def adjusted(thread_id: str, arguments: Namespace) -> settings.ThreadSettingsUpdateParams | None:
    """What the flags want otherwise than the thread has it."""
    params = settings.ThreadSettingsUpdateParams(thread_id=thread_id)
    if arguments.model:
        params.model = arguments.model
    if arguments.approval:
        params.approval_policy = arguments.approval
    if arguments.sandbox:
        params.sandbox_policy = SANDBOXES[arguments.sandbox]()
    if arguments.cd:
        params.cwd = folder(arguments)
    return params if len(params.model_fields_set) > 1 else None


async def _opened(client: Client, arguments: Namespace, it: Thread) -> None:
    if (wishes := adjusted(it.id, arguments)) is not None:
        await client.request(settings.UPDATE, wishes)
    _tell(arguments, it)


def _talks(arguments: Namespace) -> bool:
    return not arguments.json and sys.stdin.isatty() and in_terminal()


def _chat(arguments: Namespace, how: Literal["resume", "fork"]) -> int:
    from threadloom.cli.chat import run

    return run(arguments, how)


def _tell(arguments: Namespace, it: Thread) -> None:
    if arguments.json:
        as_json([it])
    else:
        write(f"{it.id}\t{it.cwd}\t{line(it.name or it.preview)}")
