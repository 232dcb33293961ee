"""Bytes → lines, however they are cut."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from threadloom.transports.base import Flaw, Frame
from threadloom.transports.lines import Lines


def fed(lines: Lines, *pieces: bytes) -> list[Frame]:
    return [frame for piece in pieces for frame in lines.feed(piece)] + lines.end()


def test_a_last_line_without_its_end_counts() -> None:
    assert fed(Lines(), b"one\ntw", b"o\nthree") == [b"one", b"two", b"three"]


def test_blank_lines_say_nothing() -> None:
    assert fed(Lines(), b"\n \r\n\t\none\r\n") == [b"one\r"]


def test_a_line_past_the_limit_is_reported_once_and_skipped_to_its_end() -> None:
    lines = Lines(limit=4)
    frames = fed(lines, b"12345", b"6789", b"0\nok\n", b"1234\n123456\nok")
    assert [type(frame) for frame in frames] == [Flaw, bytes, bytes, Flaw, bytes]
    assert frames[1:3] == [b"ok", b"1234"]


def test_memory_does_not_grow_with_a_line_that_is_skipped() -> None:
    lines = Lines(limit=10)
    for _ in range(1000):
        assert lines.feed(b"x" * 100) == []
    assert lines._parts == []


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line), max_size=8), st.data())
def test_the_cuts_do_not_matter(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"\n".join(lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert fed(Lines(), *pieces) == [line for line in lines if line and not line.isspace()]
