"""Does the Codex TUI, unmodified, work on this server?

`python -m tests.clients.tui ws://127.0.0.1:PORT` starts `codex --remote URL` in a terminal with a fresh home, waits for
its composer, submits a prompt, waits for the answer and for the end of the turn, and quits. It prints `tui: ok`, or
`tui: FAILED at STAGE: why` and the screen. Stages: start, composer, startup, submit, answer, turn-end, quit.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from tests.clients.terminal import POLL, Failed, Terminal, terminal
from tests.support.codex import codex_binary

# No look for updates, no statistics, no questions about the folder.
CONFIG = """\
check_for_update_on_startup = false
[analytics]
enabled = false
[tui]
screen_reader_detection_done = true
[projects.{folder}]
trust_level = "trusted"
"""
PLACEHOLDERS = ("Ask Codex to do anything", "Ask a follow-up")
PROMPT = "hello from the tests"

START = 60.0  # seconds for the composer to be there
ECHO = 20.0  # for what was typed to be shown
TURN = 60.0
QUIT = 20.0
HAND = 0.3  # seconds between the last letter and Enter: what comes faster counts as pasted, and Enter as a part of it
CALM = 1.0  # seconds without a change, after which a screen counts as finished
REST = 2.5  # the same for a turn: the spinner may pause between two items

ENDED = re.compile(r"Worked for|^■ ", re.MULTILINE)
QUESTION = re.compile("Would you like to (run|make)")
NO_ANSWER = re.compile(r"^• (Working|Thinking|Running|Starting)\b")


class Tui:
    """The TUI at work."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal

    async def ready(self, seconds: float = START) -> None:
        """Wait for the composer, and for the screen to come to rest."""
        try:
            await self.terminal.until(self._composed, seconds, "composer", "the composer with its status line")
        except Failed as fault:
            if "Ask Codex" in fault.screen:
                raise Failed("startup", f"{fault.why} (a request of the start is unanswered?)", fault.screen) from None
            raise
        await self.calm()

    def _composed(self, screen: str) -> bool:
        if re.search(r"Sign in with ChatGPT|Provide your own API key", screen):
            raise Failed("composer", "it asks to log in (account/read: null, and requiresOpenaiAuth)", screen)
        if re.search(r"Do you trust|Trust this folder|Use existing model", screen):
            raise Failed("composer", "it asks a question before it starts", screen)
        return composing(screen)

    async def calm(self, seconds: float = CALM) -> None:
        """Wait until the composer is there and the screen has not changed for a while."""
        last, since = None, anyio.current_time()

        def still(screen: str) -> bool:
            nonlocal last, since
            if screen != last:
                last, since = screen, anyio.current_time()
            return composing(screen) and anyio.current_time() - since > seconds

        await self.terminal.until(still, START, "composer", "the screen to come to rest")

    async def submit(self, prompt: str) -> None:
        """Type a prompt, send it, and see it in the transcript."""
        await self.write(prompt)
        await self.terminal.press("Enter")
        try:
            await self.terminal.until(
                lambda screen: answer_to(prompt, screen) is not None and composing(screen),
                ECHO,
                "submit",
                "the prompt in the transcript",
            )
        except Failed as fault:
            # The composer is painted before the server has answered.
            if re.search("Waiting for startup|Queued follow-up inputs", fault.screen):
                raise Failed("startup", f"{fault.why} (a request of the start is unanswered)", fault.screen) from None
            raise

    async def write(self, text: str) -> None:
        """Type something into the composer."""
        await self.terminal.type(text)
        first = text.splitlines()[0].removeprefix("!")[:40]  # which turns the composer into a shell's
        await self.terminal.until(lambda screen: first in composer(screen), ECHO, "submit", "what was typed")
        await anyio.sleep(HAND)

    async def answered(self, prompt: str, expect: str | None = None, *, approve: bool = False) -> str:
        """Wait for the answer to a prompt and the end of its turn; the answer. With `approve`, say yes to questions."""
        answer = await self._turn_ended(prompt, approve)
        faults = [cell for cell in cells(answer) if cell.startswith("■")]
        if expect is None and faults:
            raise Failed("answer", f"the turn ended with an error: {faults[0]}", await self.terminal.screen())
        if expect is not None and not re.search(expect, answer):
            raise Failed("answer", f"there is no {expect!r} in the answer", await self.terminal.screen())
        return answer

    async def _turn_ended(self, prompt: str, approve: bool) -> str:
        """Wait for the line under a turn, for an error, or for a while in which nothing moves."""
        last, since = "", anyio.current_time()
        with anyio.move_on_after(TURN):
            while True:
                screen = await self.terminal.screen()
                answer = answer_to(prompt, screen) or ""
                if ENDED.search(answer):
                    return answer
                if self.terminal.code is not None:
                    raise Failed("answer", f"the program ended with status {self.terminal.code}", screen)
                if approve and QUESTION.search(screen):
                    await self.terminal.press("y")
                    await self.terminal.until(
                        lambda now: not QUESTION.search(now), ECHO, "answer", "the question to go"
                    )
                if answer != last or not cells(answer) or "esc to interrupt" in screen or await self.busy():
                    last, since = answer, anyio.current_time()
                if anyio.current_time() - since > REST:
                    return answer
                await anyio.sleep(POLL)
        screen = await self.terminal.screen()
        if not cells(answer_to(prompt, screen)):
            raise Failed("answer", f"no answer after {TURN:g} s", screen)
        raise Failed("turn-end", "the turn does not end (is its turn/completed valid?)", screen)

    async def busy(self) -> bool:
        """Whether a turn runs: there is a spinner in the title then."""
        return re.match("[\u2800-\u28ff]", await self.terminal.title()) is not None

    async def command(self, text: str, shows: str | None = None) -> None:
        """Send a command, such as `/status`, and wait for what it shows."""
        await self.write(text)
        await self.terminal.press("Enter")
        if shows is not None:
            await self.sees(shows, text)

    async def sees(self, pattern: str, after: str = "the last key") -> None:
        """Wait for something on the screen."""
        await self.terminal.until(
            lambda screen: re.search(pattern, screen, re.MULTILINE), TURN, "answer", f"{pattern!r} after {after}"
        )

    async def quit(self) -> None:
        """Leave politely."""
        await self.command("/quit")
        code = await self.terminal.ended(QUIT)
        if code != 0:
            raise Failed("quit", f"exit status {code}", await self.terminal.screen())


def composing(screen: str) -> bool:
    """Whether there is an empty composer with the line of model and folder below it.

    Before the TUI has even connected there is one without that line.
    """
    at = max(screen.rfind(f"› {placeholder}") for placeholder in PLACEHOLDERS)
    return at >= 0 and re.search(r"^ +\S.* · [~/]", screen[at:], re.MULTILINE) is not None


def composer(screen: str) -> str:
    """The first line of the composer."""
    lines = [line for line in screen.splitlines() if line.startswith(("› ", "! "))]
    return lines[-1] if lines else ""


def answer_to(prompt: str, screen: str) -> str | None:
    """What stands between the last echo of a prompt and the composer; None if there is no echo."""
    lines = screen.splitlines()
    first = prompt.splitlines()[0][:60]
    echoes = [at for at, line in enumerate(lines) if line.startswith("› ") and first in line]
    if not echoes:
        return None
    rest = lines[echoes[-1] + 1 :]
    end = next((at for at, line in enumerate(rest) if line.startswith("› ")), len(rest))
    return "\n".join(rest[:end])


def cells(answer: str | None) -> list[str]:
    """The first lines of what was answered: texts, tools and errors, but not the signs of work."""
    lines = (answer or "").splitlines()
    return [line for line in lines if re.match("[•■] ", line) and not NO_ANSWER.match(line)]


@asynccontextmanager
async def tui(url: str, room: Path, *words: str, environment: Mapping[str, str] | None = None) -> AsyncIterator[Tui]:
    """The TUI on a server, in a home and a folder of its own."""
    home, work = room / "home", room / "work"
    if not home.exists():
        home.mkdir()
        work.mkdir()
        (home / "config.toml").write_text(CONFIG.format(folder=json.dumps(str(work))))
    command = [str(codex_binary()), *words, "--remote", url]
    places = {"HOME": str(home), "CODEX_HOME": str(home)}
    async with terminal(command, work, {**places, **(environment or {})}) as it:
        yield Tui(it)


async def check(
    url: str, prompt: str = PROMPT, expect: str | None = None, token_env: str | None = None, approve: bool = False
) -> str:
    """A whole visit; the answer. Raises `Failed`."""
    words = ["--remote-auth-token-env", token_env] if token_env else []
    environment = {token_env: os.environ[token_env]} if token_env else {}
    with TemporaryDirectory(prefix="codex-") as room:
        async with tui(url, Path(room), *words, environment=environment) as it:
            await it.ready()
            await it.submit(prompt)
            answer = await it.answered(prompt, expect, approve=approve)
            await it.quit()
    return answer


def main() -> int:
    """The command line; the exit code."""
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", help="ws://IP:PORT or unix://PATH")
    parser.add_argument("--prompt", default=PROMPT)
    parser.add_argument("--expect", metavar="REGEX", help="what the answer must hold")
    parser.add_argument("--approve", action="store_true", help="say yes to the questions of the agent")
    parser.add_argument("--token-env", metavar="NAME", help="the environment variable that holds the token")
    arguments = parser.parse_args()
    try:
        answer = anyio.run(
            check, arguments.url, arguments.prompt, arguments.expect, arguments.token_env, arguments.approve
        )
    except Failed as fault:
        print(f"tui: FAILED at {fault.stage}: {fault.why}\n{'─' * 60}\n{fault.screen}")
        return 1
    print(f"tui: ok\n{'─' * 60}\n{answer}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
