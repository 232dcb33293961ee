"""Output of any size stays readable, says what it lost, and breaks no character."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadloom.exec.output import Capped, Decoder, exec_text, for_model, shell_text, tokens

CUT = re.compile(r"\n… ([\d,]+) bytes cut …\n")
MODEL_CUT = re.compile(r"… ([\d,]+) tokens cut …")
PIECES = st.lists(st.binary(max_size=60) | st.text(max_size=30).map(str.encode), max_size=12)


def fed(capped: Capped, *pieces: bytes) -> Capped:
    for piece in pieces:
        capped.feed(piece)
    return capped


@given(PIECES)
def test_text_in_pieces_is_the_text(pieces: list[bytes]) -> None:
    decoder = Decoder()
    assert "".join(map(decoder.feed, pieces)) + decoder.end() == b"".join(pieces).decode("utf-8", "replace")


def test_a_character_waits_until_it_is_complete() -> None:
    decoder = Decoder()
    assert [decoder.feed(bytes([byte])) for byte in "€x".encode()] == ["", "", "€", "x"]
    assert (decoder.feed("€".encode()[:2]), decoder.end()) == ("", "\ufffd")


@given(PIECES, st.integers(0, 40), st.integers(0, 40))
def test_what_fits_is_kept_as_it_is(pieces: list[bytes], head: int, tail: int) -> None:
    whole = b"".join(pieces)
    text = fed(Capped(head, tail), *pieces).text()
    assert (text == whole.decode("utf-8", "replace")) is (len(whole) <= head + tail)


@given(st.text(min_size=1), st.lists(st.integers(1, 9), min_size=1), st.integers(0, 30), st.integers(0, 30))
def test_what_does_not_fit_is_cut_in_the_middle_between_characters(
    text: str, sizes: list[int], head: int, tail: int
) -> None:
    whole = (text + "x").encode() * (head + tail + 1)
    capped = Capped(head, tail)
    at = step = 0
    while at < len(whole):
        size = sizes[step % len(sizes)]
        capped.feed(whole[at : at + size])
        at, step = at + size, step + 1
    cut = list(CUT.finditer(capped.text()))[-1] if "bytes cut" not in text else None
    if cut is None:
        return
    first, last = capped.text()[: cut.start()].encode(), capped.text()[cut.end() :].encode()
    assert whole.startswith(first)
    assert whole.endswith(last)
    assert head - 3 <= len(first) <= head
    assert tail - 3 <= len(last) <= tail
    assert int(cut[1].replace(",", "")) == len(whole) - len(first) - len(last) == capped.total - len(first + last)


def test_a_flood_takes_no_more_room_than_the_limit() -> None:
    capped = Capped(1000, 1000)
    for _ in range(500):
        capped.feed(b"x" * 999)
        assert len(capped._head) + len(capped._tail) <= 3000
    capped.feed(b"y" * 10_000_000)
    assert len(capped._head) + len(capped._tail) <= 3000
    assert capped.text() == "x" * 1000 + "\n… 10,497,500 bytes cut …\n" + "y" * 1000


def test_what_is_no_text_is_shown_as_well_as_it_can_be() -> None:
    assert fed(Capped(), b"a\xffb").text() == "a\ufffdb"
    assert fed(Capped(2, 2), b"\x80" * 9).text() == "\ufffd\ufffd\n… 7 bytes cut …\n"


@given(st.text(), st.integers(0, 30))
def test_a_model_gets_what_it_asked_for_and_no_more(text: str, limit: int) -> None:
    shown = for_model(text, limit)
    if len(text.encode()) <= 4 * limit:
        assert shown == text
        return
    cut = list(MODEL_CUT.finditer(shown))[-1]
    first, last = shown[: cut.start()].partition("\n\n")[2], shown[cut.end() :]
    assert text.startswith(first)
    assert text.endswith(last)
    assert 4 * limit - 6 <= len((first + last).encode()) <= 4 * limit
    assert int(cut[1].replace(",", "")) == tokens(len(text.encode()) - len((first + last).encode()))


def test_a_cut_text_says_how_much_there_was() -> None:
    text = "".join(f"{number}\n" for number in range(1, 1001))
    assert for_model(text, 5) == "Total output lines: 1000\n\n1\n2\n3\n4\n5\n… 969 tokens cut …\n999\n1000\n"


def test_what_was_cut_before_the_model_asked_counts() -> None:
    capped = fed(Capped(100, 100), b"x" * 10_000)
    assert "… 2,490 tokens cut …" in for_model(capped.text(), 10, total=capped.total)
    assert for_model(capped.text(), total=capped.total) == capped.text()


def test_the_default_leaves_a_page_alone_and_a_flood_not() -> None:
    assert for_model("x" * 40_000) == "x" * 40_000
    assert "… 1 tokens cut …" in for_model("x" * 40_001)


@pytest.mark.parametrize(("size", "count"), [(0, 0), (1, 1), (4, 1), (5, 2), (588_895, 147_224)])
def test_tokens_are_counted_as_codex_counts_them(size: int, count: int) -> None:
    assert tokens(size) == count


def test_a_command_that_is_over_has_a_code() -> None:
    assert exec_text("hi\n", wall_seconds=0.12344, exit_code=0) == (
        "Wall time: 0.1234 seconds\nProcess exited with code 0\nOriginal token count: 1\nOutput:\nhi\n"
    )


def test_a_command_that_runs_has_a_session() -> None:
    assert exec_text("", wall_seconds=0.3, session_id=36366) == (
        "Wall time: 0.3000 seconds\nProcess running with session ID 36366\nOriginal token count: 0\nOutput:\n"
    )


def test_the_count_is_that_of_the_whole_output() -> None:
    text = exec_text("x" * 400, wall_seconds=0, exit_code=1, max_output_tokens=10, total=4000)
    assert "Original token count: 1000\n" in text
    assert "… 990 tokens cut …" in text


def test_shell_says_its_code_first() -> None:
    assert shell_text("hi\n", wall_seconds=0.14, exit_code=3) == "Exit code: 3\nWall time: 0.1 seconds\nOutput:\nhi\n"
    late = shell_text("hi\n", wall_seconds=1, exit_code=124, timed_out_ms=1000)
    assert late.endswith("Output:\nThe command took longer than 1000 milliseconds and was ended.\nhi\n")
