"""HTTP/1.1 by hand: heads and bodies, whole and in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.agent.models.asking import MANY, cut

from threadloom.agent.models import http1
from threadloom.agent.models.http1 import Chunked, Head, Malformed, Open, Sized, framing, head


def test_a_head_is_what_comes_before_the_blank_line() -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX:  a b \r\n\r\nbody"
    assert head(data) == (
        Head(b"HTTP/1.1", 200, [(b"Content-Type", b"text/plain"), (b"X", b"a b")]),
        b"body",
    )
    for place in range(data.index(b"body")):
        assert head(data[:place]) is None


def test_a_reason_may_be_missing() -> None:
    found = head(b"HTTP/1.1 204\r\n\r\n")
    assert found is not None
    assert found[0].status == 204


BAD_HEADS = [b"SSH-2.0-x\r\n\r\n", b"HTTP/2 200\r\n\r\n", b"HTTP/1.1 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nnothing\r\n\r\n"]
BAD_HEADS += [b"HTTP/1.1 200 OK\r\n: x\r\n\r\n", b"HTTP/1.1 200 OK\r\na : x\r\n\r\n", b"x" * (http1.LONGEST + 1)]


@pytest.mark.parametrize("data", BAD_HEADS)
def test_what_is_no_head_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        head(data)


def top(*headers: tuple[bytes, bytes], status: int = 200, version: bytes = b"HTTP/1.1") -> Head:
    return Head(version, status, list(headers))


def test_headers_say_how_the_body_is_framed() -> None:
    assert isinstance(framing(top((b"Transfer-Encoding", b"Chunked")), "POST"), Chunked)
    assert isinstance(framing(top(), "POST"), Open)
    assert isinstance(framing(top((b"Content-Length", b"3")), "POST"), Sized)
    assert framing(top((b"content-length", b"3")), "HEAD").done
    assert framing(top(status=204), "POST").done
    with pytest.raises(Malformed):
        framing(top((b"content-length", b"-3")), "POST")
    with pytest.raises(Malformed):
        framing(top((b"content-length", b"9" * 5000)), "POST")


def test_headers_say_whether_a_connection_is_kept() -> None:
    assert top().keeps
    assert not top((b"Connection", b"Close")).keeps
    assert not top(version=b"HTTP/1.0").keeps


BODY = b"5\r\nHello\r\n1;x=y\r\n \r\n00B\r\nto\r\nthe all\r\n0\r\nTrailer: 1\r\n\r\n"
SAID = b"Hello to\r\nthe all"


def test_chunks_that_come_together_are_one_piece() -> None:
    body = Chunked()
    assert (body.feed(BODY), body.done) == (SAID, True)


@MANY
@given(st.lists(st.integers(min_value=0), max_size=20))
def test_chunks_in_any_pieces_are_the_same_body(places: list[int]) -> None:
    body = Chunked()
    assert b"".join(body.feed(piece) for piece in cut(BODY, places)) == SAID
    assert body.done


def test_a_body_is_not_done_before_its_last_byte() -> None:
    for place in range(len(BODY)):
        body = Chunked()
        body.feed(BODY[:place])
        assert not body.done


@pytest.mark.parametrize("data", [b"\r\n", b"x\r\n", b"-1\r\n", b"1\r\nab\r\n", b"1" * (http1.LONGEST + 1)])
def test_what_is_no_chunk_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        Chunked().feed(data)


def test_a_sized_body_takes_what_is_its_own() -> None:
    body = Sized(3)
    assert (body.feed(b"ab"), body.done) == (b"ab", False)
    assert (body.feed(b"cd"), body.done) == (b"c", True)
