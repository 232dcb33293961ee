"""What a command printed: as text while it comes, cut to a size that one can keep, and as a model gets to read it."""

from __future__ import annotations

import codecs
from typing import Final

KIB: Final = 1024
# Of the item that clients see: how it began, and rather more of how it ended, for errors come last.
ITEM_HEAD: Final = 16 * KIB
ITEM_TAIL: Final = 48 * KIB
# Of what models read: far beyond what they ask for, and still nothing that a busy server would feel.
MODEL_HALF: Final = 512 * KIB

BYTES_PER_TOKEN: Final = 4  # roughly, for English and for code
MAX_OUTPUT_TOKENS: Final = 10_000  # unless the model asks for another number
MAX_CONTINUATION: Final = 3  # a character of UTF-8 has at most four bytes


class Decoder:
    """UTF-8 that comes in pieces, cut anywhere. What is no UTF-8 becomes U+FFFD."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """The characters that are complete by now."""
        return self._decoder.decode(data)

    def end(self) -> str:
        """There is no more: what is left, if a character was cut."""
        return self._decoder.decode(b"", final=True)


class Capped:
    """Output of any length in a bounded room: its beginning, its end, and how much was cut between them."""

    def __init__(self, head: int = ITEM_HEAD, tail: int = ITEM_TAIL) -> None:
        self._limit = tail
        self._room = head
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    @classmethod
    def for_model(cls) -> Capped:
        """One that keeps what a model may want to read, the same amount on both sides."""
        return cls(MODEL_HALF, MODEL_HALF)

    def feed(self, data: bytes) -> None:
        """More of it."""
        self.total += len(data)
        free = self._room - len(self._head)
        self._head += data[:free]
        rest = data[free:]
        self._tail += rest[max(0, len(rest) - self._limit) :]
        # Only now and then, so that many small pieces do not move the whole tail each time.
        if len(self._tail) > 2 * self._limit:
            self._trim()

    def text(self) -> str:
        """All of it, or its two ends with a line between them that says how much is missing."""
        self._trim()
        if len(self._head) + len(self._tail) == self.total:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        head, tail = _whole_end(bytes(self._head)), _whole_start(bytes(self._tail))
        cut = self.total - len(head) - len(tail)
        return f"{head.decode('utf-8', 'replace')}\n… {cut:,} bytes cut …\n{tail.decode('utf-8', 'replace')}"

    def _trim(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._limit)]


def _whole_end(data: bytes) -> bytes:
    """Without the character at the end that is not complete."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data)
    pending, _ = decoder.getstate()
    return data[: len(data) - len(pending)]


def _whole_start(data: bytes) -> bytes:
    """Without the rest of a character that began before."""
    at = 0
    while at < min(MAX_CONTINUATION, len(data)) and 0x80 <= data[at] < 0xC0:
        at += 1
    return data[at:]


def tokens(size: int) -> int:
    """About how many tokens so many bytes are."""
    return -(-size // BYTES_PER_TOKEN)


def for_model(text: str, max_output_tokens: int | None = None, *, total: int | None = None) -> str:
    """The text within so many tokens; what is too much goes from the middle, and the text says so.

    `total` is how many bytes there were, where not all of them are in the text.
    """
    data = text.encode("utf-8", "replace")
    room = BYTES_PER_TOKEN * max(0, MAX_OUTPUT_TOKENS if max_output_tokens is None else max_output_tokens)
    if len(data) <= room:
        return text
    half = room // 2
    head, tail = _whole_end(data[: room - half]), _whole_start(data[len(data) - half :])
    cut = tokens(max(total or 0, len(data)) - len(head) - len(tail))
    return f"Total output lines: {_lines(text)}\n\n{head.decode()}… {cut:,} tokens cut …{tail.decode()}"


def exec_text(
    output: str,
    *,
    wall_seconds: float,
    exit_code: int | None = None,
    session_id: int | None = None,
    max_output_tokens: int | None = None,
    total: int | None = None,
) -> str:
    """What `exec_command` and `write_stdin` answer a model: with the code if the command is over, else the session."""
    size = len(output.encode("utf-8", "replace")) if total is None else total
    lines = [
        f"Wall time: {wall_seconds:.4f} seconds",
        *([f"Process exited with code {exit_code}"] if exit_code is not None else []),
        *([f"Process running with session ID {session_id}"] if session_id is not None else []),
        f"Original token count: {tokens(size)}",
        "Output:",
        for_model(output, max_output_tokens, total=total),
    ]
    return "\n".join(lines)


def shell_text(
    output: str,
    *,
    wall_seconds: float,
    exit_code: int,
    timed_out_ms: int | None = None,
    max_output_tokens: int | None = None,
    total: int | None = None,
) -> str:
    """What `shell` answers a model."""
    late = "" if timed_out_ms is None else too_late(timed_out_ms)
    shown = for_model(output, max_output_tokens, total=total)
    return f"Exit code: {exit_code}\nWall time: {wall_seconds:.1f} seconds\nOutput:\n{late}{shown}"


def too_late(milliseconds: int) -> str:
    """What is said of a command that took longer than that."""
    return f"The command took longer than {milliseconds} milliseconds and was ended.\n"


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))
