"""The screen of a chat: what is done scrolls away above, what is in motion and the prompt stay below."""

from __future__ import annotations

import os
import signal
import sys
from argparse import Namespace
from asyncio import get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth, create_output
from prompt_toolkit.styles import Style
from rich.console import RenderableType
from rich.text import Text

from threadloom.cli import render
from threadloom.cli.again import adjusted, moved
from threadloom.cli.chat import How, live, slash
from threadloom.cli.chat.asks import WORDS, Ask, Asks
from threadloom.cli.chat.completing import Completing
from threadloom.cli.chat.keys import bindings
from threadloom.cli.chat.line import Line
from threadloom.cli.chat.notify import Notifier
from threadloom.cli.chat.room import history, quiet, wanted
from threadloom.cli.chat.talk import Talk
from threadloom.cli.clean import clean, tilde
from threadloom.cli.exec import folder
from threadloom.cli.link import Place
from threadloom_client import Disconnected, Notification, RequestTimeout
from threadloom_protocol.errors import RpcError
from threadloom_protocol.v2 import approval, model, roster, session, settings, stream, terminal, thread, turn

FOCUS_ON: Final = "\x1b[?1004h"
FOCUS_OFF: Final = "\x1b[?1004l"
ESCAPE_SECONDS: Final = 0.1  # after which an Esc is one, and not the beginning of a key that sends more
PAINT: Final = 0.05  # seconds between two paintings, however fast a model speaks
CLOCK: Final = 1.0


class Screen:
    """One chat, from its first line to its last."""

    def __init__(self, place: Place, arguments: Namespace, how: How) -> None:
        self._place = place
        self._arguments = arguments
        self._how = how
        self._colour = not os.environ.get("NO_COLOR")
        self._due: deque[RenderableType] = deque()
        self._bell = anyio.Event()
        self._tasks: TaskGroup
        self.names: list[str] = []
        self.models: list[str] = []
        self.hint = ""
        self.letter = ""  # that may be an answer
        self.talk = Talk(self._say)
        self.asks = Asks(self.changed, self._asked)
        self.line = Line(place, self.talk, self.asks, self._heard)
        self.buffer = Buffer(
            name="prompt", multiline=True, history=history(place.settings.home), completer=Completing(self),
            complete_while_typing=Condition(self._completes),
        )  # fmt: skip
        self.app = self._application()
        self.notifier = Notifier(self._ring, wanted(place.settings))

    # ── life ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Talk until the person leaves."""
        with quiet(self._place.settings.home):
            async with anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(self._follow)
                self._tasks.start_soon(self._print)
                for number in (signal.SIGTERM, signal.SIGHUP):
                    get_running_loop().add_signal_handler(number, self.leave)
                self.app.output.write_raw(FOCUS_ON)
                try:
                    await self.app.run_async(set_exception_handler=False, handle_sigint=False)
                finally:
                    self.app.output.write_raw(FOCUS_OFF)
                    self.app.output.flush()
                self._tasks.cancel_scope.cancel()
            self._write("".join(self._rendered()))
        if self.talk.thread_id:
            at = f" --connect {self._place.url}" if self._place.url else ""
            for text in self.line.unsent:
                sys.stdout.write(f"\nNot sent, for there was no connection:\n{clean(text)}\n")
            sys.stdout.write(f"\nGo on with: threadloom resume {self.talk.thread_id}{at}\n")

    async def _follow(self) -> None:
        try:
            await self.line.run(self._begin)
        except BaseException:
            if self.app.is_running:
                self.app.exit()
            raise

    async def _begin(self) -> None:
        arguments, ask = self._arguments, self.line.ask
        if self._how == "start":
            answer: Any = await ask(thread.START, self._start())
        elif self._how == "fork":
            params = session.SessionForkParams(session=arguments.session, by_id=arguments.id, exclude_turns=True)
            answer = await ask(session.FORK, params)
        else:
            answer = await ask(session.RESUME, slash.resuming(arguments.session, by_id=arguments.id))
        await self._opened(answer)
        if self._how == "resume" and (further := moved(answer)):
            self.tell(f"{further}; /fork {arguments.session} goes back there.", "dim")
        if self._how == "start" and arguments.prompt:
            self.do(lambda: self.line.prompt(arguments.prompt))
        elif self._how != "start" and (wishes := adjusted(self.talk.thread_id, arguments)) is not None:
            await ask(settings.UPDATE, wishes)
        self._tasks.start_soon(self._learn)

    def _start(self) -> thread.ThreadStartParams:
        given = self._arguments
        params = thread.ThreadStartParams(cwd=folder(given))
        if given.model:
            params.model = given.model
        if given.sandbox:
            params.sandbox = given.sandbox
        if given.approval:
            params.approval_policy = given.approval
        return params

    async def _opened(self, answer: Any) -> None:
        self.talk.open(answer)
        head = Text.assemble(("threadloom", "bold"), f" · {answer.model} · {clean(tilde(answer.cwd))}")
        if answer.model_provider == "rehearsal":
            head.append(
                "\nThe rehearsal model is not a real one: no key, no provider. /help shows what you can do.", "dim"
            )
        self._say(head)
        if not isinstance(answer, thread.ThreadStartResponse):
            await self.line.recall(answer)

    async def switch(self, answer: Any) -> None:
        """See `slash.Chat.switch`."""
        before = self.talk.thread_id
        await self._opened(answer)
        if before != self.talk.thread_id:
            with suppress(RpcError):
                await self.line.ask(roster.UNSUBSCRIBE, roster.ThreadUnsubscribeParams(thread_id=before))
        await self.line.watch_tree()

    async def _learn(self) -> None:
        """What can be completed; a server that cannot say it harms nothing."""
        with suppress(RpcError, Disconnected, RequestTimeout):
            await slash.names(self)
            self.models = [it.model for it in (await self.line.ask(model.LIST, model.ModelListParams())).data]

    def leave(self) -> None:
        """See `slash.Chat.leave`."""
        if self.app.is_running:
            self.app.exit()

    # ── what the person does ──────────────────────────────────────────────────────────────────────────────────────

    @property
    def writing(self) -> bool:
        """Whether there is a line that is neither sent nor cleared, and no answer either."""
        return self.buffer.text.strip() not in ("", self.letter)

    def submit(self) -> None:
        """The line is done."""
        text = self.buffer.text.strip()
        if self.reply(text):
            self.buffer.reset()
            return
        if not text:
            return
        self.buffer.append_to_history()
        self.buffer.reset()
        self.do(lambda: self._submitted(text))

    async def _submitted(self, text: str) -> None:
        if text.startswith("/") and text[1:].split(" ")[0].isalpha():
            await slash.run(self, text)
        elif text.startswith("!") and text[1:].strip():
            params = terminal.ThreadShellCommandParams(thread_id=self.talk.thread_id, command=text[1:].strip())
            await self.line.ask(terminal.SHELL_COMMAND, params)
        else:
            await self.line.prompt(text)

    def reply(self, text: str) -> bool:
        """Words that answer a question; whether there was one. Nothing else in the conversation would show it."""
        if (said := self.asks.line(text)) is not None:
            self.tell(f"You: {said}", "dim")
        return said is not None

    def decide(self, key: str) -> None:
        """A key that answers a question."""
        if (it := self.asks.press(key)) is not None and it.answer not in ("accept", "acceptForSession"):
            self.tell(f"You: {WORDS[it.answer]}", "dim")

    def do(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something in the background; what goes wrong is told."""
        self._tasks.start_soon(self._done, work)

    async def _done(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (slash.Wrong, Disconnected, RequestTimeout) as fault:
            self.tell(str(fault), "red")
        except RpcError as fault:
            self.tell(fault.message, "red")
        self.changed()

    # ── what the server says ──────────────────────────────────────────────────────────────────────────────────────

    def _heard(self, event: Notification[Any]) -> None:
        match event.params:
            case stream.BackgroundEventNotification(is_final=True, message=text, child_thread_id=str()):
                self.notifier.tell("sub-agent-complete", text)
            case turn.TurnCompletedNotification(thread_id=at, turn=it) if at == self.talk.thread_id:
                self.notifier.tell("agent-turn-complete", f"turn {it.status}")
            case session.SessionSavedNotification() | session.SessionDeletedNotification():
                self._tasks.start_soon(self._learn)
        self.changed()

    def _asked(self, it: Ask) -> None:
        asked = it.params
        if isinstance(asked, approval.FileChangeRequestApprovalParams) and asked.thread_id != self.talk.thread_id:
            self.do(lambda: self.line.look_up(asked))
        self.notifier.tell("approval-requested", getattr(it.params, "command", None) or "a question waits")

    # ── painting ──────────────────────────────────────────────────────────────────────────────────────────────────

    def changed(self) -> None:
        """Something looks different."""
        self.app.invalidate()

    def tell(self, text: str, style: str = "") -> None:
        """See `slash.Chat.tell`."""
        self._say(Text(clean(text), style=style))

    def _say(self, what: RenderableType) -> None:
        self._due.append(what)
        self._bell.set()

    async def _print(self) -> None:
        """What is final goes above the prompt, in its order, several at a time."""
        while True:
            await self._bell.wait()
            self._bell = anyio.Event()
            if self.app.is_running and self._due:
                self._above("".join(self._rendered()))
            elif self._due:
                await anyio.sleep(PAINT)
                self._bell.set()

    def _above(self, text: str) -> None:
        """Print where the prompt was, and paint that again below: all in one go, so nothing typed meanwhile is lost."""
        self.app.renderer.erase()
        self._write(text)
        self.app.renderer.reset()
        self.app._redraw()

    def _rendered(self) -> Iterator[str]:
        width = self._size[0]
        while self._due:
            yield render.ansi(self._due.popleft(), width, colour=self._colour) + "\n"

    def _write(self, text: str) -> None:
        self.app.output.write_raw(text.replace("\n", "\r\n"))
        self.app.output.flush()

    @property
    def _size(self) -> tuple[int, int]:
        size = self.app.output.get_size()
        return size.columns, size.rows

    def _application(self) -> Application[None]:
        rows = HSplit(
            [
                ConditionalContainer(
                    Window(FormattedTextControl(self._live), dont_extend_height=True, wrap_lines=False),
                    filter=Condition(lambda: bool(self._live().value)),
                ),
                Window(
                    BufferControl(self.buffer, input_processors=[BeforeInput("› ", style="class:mark")]),
                    height=Dimension(min=1, max=10),
                    dont_extend_height=True,
                    wrap_lines=True,
                ),
                CompletionsMenu(max_height=8, scroll_offset=1),
                Window(FormattedTextControl(self._status), height=1, style="class:status", wrap_lines=False),
            ]
        )
        output = create_output()
        output.enable_cpr = False  # type: ignore[attr-defined]  # where the cursor is does not matter, and asking takes time
        app: Application[None] = Application(
            Layout(rows, focused_element=self.buffer),
            key_bindings=bindings(self),
            style=Style([("status", "reverse"), ("mark", "bold")]),
            color_depth=None if self._colour else ColorDepth.DEPTH_1_BIT,
            min_redraw_interval=PAINT,
            refresh_interval=CLOCK,
            erase_when_done=True,
            output=output,
        )
        app.ttimeoutlen = app.timeoutlen = ESCAPE_SECONDS
        return app

    def _live(self) -> ANSI:
        width, height = self._size
        text = live.painted(self.talk, self.line, width, height, colour=self._colour)
        if (it := self.asks.first) is not None:
            asked = live.asked(it, self.talk, writing=self.writing)
            text += ("\n" if text else "") + render.ansi(asked, width, colour=self._colour).rstrip("\n")
        if self.hint:
            text += f"\n{self.hint}" if text else self.hint
        return ANSI(text)

    def _status(self) -> str:
        return live.status(self.talk, self.line, self._size[0], self._place.url or "this process")

    def _completes(self) -> bool:
        return self.buffer.text.startswith("/") and " " not in self.buffer.text

    def _ring(self, text: str) -> None:
        self.app.output.write_raw(text)
        self.app.output.flush()
