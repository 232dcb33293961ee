"""`threadloom exec`: one turn for a script. Its last words on stdout, what happens meanwhile on stderr."""

from __future__ import annotations

import json
import os
import signal
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any, Final

import anyio
import orjson

from threadloom.cli.clean import clean, line
from threadloom.cli.link import FAILED, INTERRUPTED, OK, USAGE, Failure, Place, current_folder, fail
from threadloom.cli.link import run as run_command
from threadloom.cli.output import in_terminal, note, write
from threadloom.cli.signals import Signals
from threadloom.config.files import TEXT
from threadloom_client import Client, Disconnected, Notification, Subscription
from threadloom_protocol.v2 import approval, ask, item, stream, thread, turn
from threadloom_protocol.v2.values.content import TextUserInput
from threadloom_protocol.v2.values.items import (
    AgentMessageThreadItem,
    CollabAgentToolCallThreadItem,
    CommandExecutionThreadItem,
    FileChangeThreadItem,
)

CODES: Final = {"completed": OK, "failed": FAILED, "interrupted": INTERRUPTED}
WIDTH: Final = 100  # characters of a command or a report that a line of progress shows
PATIENCE: Final = 5.0  # seconds for an interrupted turn to end


def run(arguments: Namespace) -> int:
    """One turn; the exit code says how it ended."""

    async def work(place: Place) -> int:
        prompt, schema = _prompt(arguments.prompt), _schema(arguments.output_schema)
        async with place.client() as client:
            return await Errand(client, as_json=arguments.json).run(_thread(arguments), prompt, schema)

    return run_command(arguments, work)


def _prompt(given: str | None) -> str:
    if given is not None and given != "-":
        if not given.strip():
            raise Failure("the prompt is empty", USAGE)
        return given
    if given is None and sys.stdin.isatty():
        raise Failure('what shall be done? threadloom exec "PROMPT", or the prompt on stdin', USAGE)
    text = sys.stdin.read()
    if not text.strip():
        raise Failure("the prompt on stdin is empty", USAGE)
    return text.rstrip("\n")


def _schema(path: str | None) -> Any:
    if path is None:
        return None
    try:
        schema = json.loads(Path(path).read_text(encoding=TEXT))
    except (OSError, ValueError) as fault:
        raise Failure(f"--output-schema {path}: {fault}", USAGE) from None
    if not isinstance(schema, dict):
        raise Failure(f"--output-schema {path}: a JSON Schema is an object", USAGE)
    return schema


def _thread(arguments: Namespace) -> thread.ThreadStartParams:
    params = thread.ThreadStartParams(cwd=folder(arguments), approval_policy=arguments.approval or "never")
    if arguments.model:
        params.model = arguments.model
    if arguments.sandbox:
        params.sandbox = arguments.sandbox
    return params


def folder(arguments: Namespace) -> str:
    """Where the agent works: here, or where `-C` says; the folder of a server elsewhere is not looked for here."""
    path = os.path.normpath(os.path.join(current_folder(), arguments.cd or ""))
    if arguments.connect is None and not os.path.isdir(path):
        raise Failure(f"-C {arguments.cd}: there is no such folder", USAGE)
    return path


class Errand:
    """A thread of its own with one turn in it."""

    def __init__(self, client: Client, *, as_json: bool) -> None:
        self._client = client
        self._as_json = as_json
        self._thread = ""
        self._turn = ""
        self._words = ""  # the last that the agent said

    async def run(self, begin: thread.ThreadStartParams, prompt: str, schema: Any) -> int:
        """The whole of it; the exit code."""
        self._client.on_request(approval.COMMAND, self._decline)
        self._client.on_request(approval.FILE_CHANGE, self._decline)
        self._client.on_request(ask.USER_INPUT, self._leave_open)
        with self._client.notifications() as events:
            started = await self._client.request(thread.START, begin)
            self._thread = started.thread.id
            self._tell(f"thread {self._thread} · {started.model} · {started.cwd}")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._until_signal)
                params = turn.TurnStartParams(thread_id=self._thread, input=[TextUserInput(text=prompt)])
                if schema is not None:
                    params.output_schema = schema
                self._turn = (await self._client.request(turn.START, params)).turn.id
                ended = await self._watch(events)
                tasks.cancel_scope.cancel()
        return self._conclude(ended)

    async def _watch(self, events: Subscription[Any]) -> turn.TurnCompletedNotification:
        async for event in events:
            if self._as_json:
                sys.stdout.buffer.write(orjson.dumps({"method": event.method, "params": event.raw}) + b"\n")
                sys.stdout.buffer.flush()
            if isinstance(event.params, turn.TurnCompletedNotification) and event.params.turn.id == self._turn:
                return event.params
            self._follow(event)
        raise Disconnected("the server has gone")

    def _follow(self, event: Notification[Any]) -> None:
        match event.params:
            case item.ItemStartedNotification(item=CommandExecutionThreadItem(command=command)):
                self._tell(f"$ {line(command, WIDTH)}")
            case item.ItemCompletedNotification(item=done, thread_id=at):
                self._done(done, own=at == self._thread)
            case turn.ErrorNotification(error=error, will_retry=True):
                self._tell(f"{error.message}; trying again")
            case stream.BackgroundEventNotification(thread_id=str(), message=text):
                self._tell(line(text, 2 * WIDTH))

    def _done(self, done: Any, *, own: bool) -> None:
        match done:
            case AgentMessageThreadItem(text=text) if own:
                self._words = text
            case CommandExecutionThreadItem(status=status, exit_code=code) if status != "completed" or code:
                self._tell(f"  {status}" if code is None else f"  exit code {code}")
            case FileChangeThreadItem(status=status, changes=changes):
                self._tell(f"{status}: {', '.join(line(it.path) for it in changes)}")
            case CollabAgentToolCallThreadItem(tool=tool, receiver_thread_ids=ids):
                self._tell(f"{tool} {' '.join(ids)}")

    async def _decline(self, asked: Any) -> Any:
        """There is nobody to ask."""
        what = getattr(asked, "command", None) or "a change of files"
        self._tell(f"declined, for nobody is here to ask: {line(what, WIDTH)}")
        if isinstance(asked, approval.CommandExecutionRequestApprovalParams):
            return approval.CommandExecutionRequestApprovalResponse(decision="decline")
        return approval.FileChangeRequestApprovalResponse(decision="decline")

    async def _leave_open(self, asked: ask.ToolRequestUserInputParams) -> ask.ToolRequestUserInputResponse:
        """There is nobody to answer."""
        for it in asked.questions:
            self._tell(f"not answered, for nobody is here to ask: {line(it.question, WIDTH)}")
        return ask.ToolRequestUserInputResponse(answers={})

    async def _until_signal(self) -> None:
        """The first Ctrl-C ends the turn, a second one, or patience, the process."""
        signals = Signals(signal.SIGINT, signal.SIGTERM)
        await signals.next()
        with anyio.move_on_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._interrupt)
                await signals.next()
        os._exit(INTERRUPTED)

    async def _interrupt(self) -> None:
        params = turn.TurnInterruptParams(thread_id=self._thread, turn_id=self._turn, cascade=True)
        await self._client.request(turn.INTERRUPT, params)

    def _conclude(self, ended: turn.TurnCompletedNotification) -> int:
        done = ended.turn
        if not self._as_json and self._words:
            write(clean(self._words) if in_terminal() else self._words)
        if done.status == "failed":
            return fail(done.error.message if done.error else "the turn failed")
        if done.status == "interrupted":
            note("threadloom: interrupted")
        return CODES[done.status]

    def _tell(self, text: str) -> None:
        note(clean(text))
