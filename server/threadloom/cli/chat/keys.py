"""Which key does what."""

from __future__ import annotations

import time
from asyncio import get_running_loop
from typing import TYPE_CHECKING, Final

from prompt_toolkit.filters import Condition
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

if TYPE_CHECKING:
    from threadloom.cli.chat.asks import Ask
    from threadloom.cli.chat.screen import Screen

TWICE: Final = 2.0  # seconds within which a second Ctrl-C leaves
ALONE: Final = 0.3  # seconds without another key after which a letter is an answer, and not the first of a word
LEAVE: Final = "Ctrl-C again leaves."

# How a terminal says that it got or lost the focus; there are no keys for it, so two take its place that nobody has.
ANSI_SEQUENCES.setdefault("\x1b[I", Keys.F23)
ANSI_SEQUENCES.setdefault("\x1b[O", Keys.F24)


def bindings(screen: Screen) -> KeyBindings:
    """All of them."""
    keys = KeyBindings()
    asked = Condition(lambda: screen.asks.first is not None and screen.asks.first.question is None)
    _writing(keys, screen, asked)
    _deciding(keys, screen, asked)
    _leaving(keys, screen)

    @keys.add(Keys.F23)
    def _focus(event: KeyPressEvent) -> None:
        screen.notifier.focused = True

    @keys.add(Keys.F24)
    def _blur(event: KeyPressEvent) -> None:
        screen.notifier.focused = False

    return keys


def _writing(keys: KeyBindings, screen: Screen, asked: Condition) -> None:
    @keys.add("enter")
    def _send(event: KeyPressEvent) -> None:
        buffer = screen.buffer
        screen.notifier.last_key = time.monotonic()
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.complete_state = None  # what is chosen is in the line already
        elif buffer.text.endswith("\\") and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            screen.submit()

    @keys.add("escape", "enter", filter=~asked)
    @keys.add("c-j")
    def _newline(event: KeyPressEvent) -> None:
        screen.buffer.insert_text("\n")

    @keys.add("escape", filter=~asked)
    def _escape(event: KeyPressEvent) -> None:
        if screen.buffer.complete_state is not None:
            screen.buffer.cancel_completion()
        elif screen.asks.first is not None:
            screen.reply("")
        elif screen.talk.busy:
            screen.do(screen.line.interrupt)


def _deciding(keys: KeyBindings, screen: Screen, asked: Condition) -> None:
    """A letter answers if it stays alone: the words of somebody who has not seen the question yet allow nothing."""

    def _decide(event: KeyPressEvent) -> None:
        screen.notifier.last_key = time.monotonic()
        screen.letter = event.data
        screen.buffer.insert_text(event.data)
        get_running_loop().call_later(ALONE, _settle, screen.asks.first)

    def _settle(it: Ask | None) -> None:
        letter, screen.letter = screen.letter, ""
        if it is screen.asks.first and screen.buffer.text == letter:
            screen.buffer.reset()
            screen.decide(letter.lower())
        screen.changed()

    for key in ("y", "a", "n", "Y", "A", "N"):
        keys.add(key, filter=asked & Condition(lambda: not screen.buffer.text.strip()))(_decide)

    @keys.add("escape", filter=asked)
    def _cancel(event: KeyPressEvent) -> None:
        screen.notifier.last_key = time.monotonic()
        screen.decide("escape")


def _leaving(keys: KeyBindings, screen: Screen) -> None:
    last = 0.0

    @keys.add("c-c")
    def _stop(event: KeyPressEvent) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < TWICE:
            screen.leave()
            return
        last = now
        screen.buffer.reset()
        screen.hint = LEAVE
        get_running_loop().call_later(TWICE, _forget)

    def _forget() -> None:
        screen.hint = ""
        screen.changed()

    @keys.add("c-d", filter=Condition(lambda: not screen.buffer.text))
    def _end(event: KeyPressEvent) -> None:
        screen.leave()
