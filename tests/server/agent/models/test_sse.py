"""Server-sent events: what is cut out of a stream, whatever it looks like and wherever it is broken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.agent.models.asking import MANY, cut

from threadloom.agent.models import sse
from threadloom.agent.models.sse import Splitter, SseEvent, TooLong

STREAMS = [
    pytest.param(b"data: 1\n\ndata: 2\n\n", [(b"", b"1"), (b"", b"2")], id="data alone"),
    pytest.param(b"event: a\ndata: 1\n\n", [(b"a", b"1")], id="with a name"),
    pytest.param(b"data: 1\nevent: a\n\n", [(b"a", b"1")], id="with a name behind"),
    pytest.param(b"event: a\nid: 7\ndata: 1\n\n", [(b"a", b"1")], id="with an id between"),
    pytest.param(b"event:a\ndata:1\n\n", [(b"a", b"1")], id="without a space"),
    pytest.param(b"data:  1\n\n", [(b"", b" 1")], id="with two spaces"),
    pytest.param(b"data: 1\ndata: 2\n\n", [(b"", b"1\n2")], id="on two lines"),
    pytest.param(b"event: a\ndata: 1\ndata: 2\n\n", [(b"a", b"1\n2")], id="on two lines with a name"),
    pytest.param(b": hi\n\n:\n\ndata: 1\n\n", [(b"", b"1")], id="comments"),
    pytest.param(b"event: ping\n\ndata: 1\n\n", [(b"", b"1")], id="an event with no data"),
    pytest.param(b"\n\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n", [(b"", b"1"), (b"", b"2")], id="many blank lines"),
    pytest.param(b"data: 1\r\n\r\ndata: 2\r\n\r\n", [(b"", b"1"), (b"", b"2")], id="CRLF"),
    pytest.param(b"event: a\r\ndata: 1\r\ndata: 2\r\n\r\n", [(b"a", b"1\n2")], id="CRLF with a name"),
    pytest.param(b"data: 1\r\rdata: 2\r\r", [(b"", b"1"), (b"", b"2")], id="CR"),
    pytest.param(b"data: 1\r\n\ndata: 2\n\r\n", [(b"", b"1"), (b"", b"2")], id="a mixture"),
    pytest.param(b"\xef\xbb\xbfdata: 1\n\n", [(b"", b"1")], id="a byte order mark"),
    pytest.param(b"data: 1\n\ndata: 2", [(b"", b"1"), (b"", b"2")], id="no blank line at the end"),
    pytest.param(b"data: 1\n\ndata: 2\n", [(b"", b"1"), (b"", b"2")], id="one line end at the end"),
    pytest.param(
        'data: "a\u2028b\u0085c\x0bd"\n\n'.encode(), [(b"", '"a\u2028b\u0085c\x0bd"'.encode())], id="odd separators"
    ),
    pytest.param(b"", [], id="nothing"),
]


def split(pieces: list[bytes]) -> list[SseEvent]:
    splitter = Splitter()
    return [event for piece in pieces for event in splitter.feed(piece)] + splitter.end()


@pytest.mark.parametrize(("stream", "events"), STREAMS)
def test_a_stream_is_cut_at_blank_lines(stream: bytes, events: list[SseEvent]) -> None:
    assert split([stream]) == events


@pytest.mark.parametrize(("stream", "events"), STREAMS)
def test_where_it_is_broken_makes_no_difference(stream: bytes, events: list[SseEvent]) -> None:
    assert split([bytes([byte]) for byte in stream]) == events
    for place in range(len(stream)):
        assert split([stream[:place], stream[place:]]) == events


LINES = st.binary(max_size=6).map(lambda data: b"data: " + data.replace(b"\n", b"").replace(b"\r", b""))
NEWLINES = st.sampled_from([b"\n", b"\r\n", b"\r"])


@MANY
@given(st.lists(st.tuples(LINES, NEWLINES)), st.lists(st.integers(min_value=0)))
def test_any_events_in_any_pieces_are_the_same_events(lines: list[tuple[bytes, bytes]], places: list[int]) -> None:
    stream = b"".join(line + newline * 2 for line, newline in lines)
    assert split(list(cut(stream, places))) == [(b"", line[6:]) for line, _ in lines]


def test_an_event_is_given_as_soon_as_it_is_whole() -> None:
    splitter = Splitter()
    assert splitter.feed(b"data: 1\r") == []
    assert splitter.feed(b"\r") == [(b"", b"1")]
    assert splitter.feed(b"\ndata: 2\n\n") == [(b"", b"2")]


def test_an_event_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MOST", 1000)
    splitter = Splitter()
    assert splitter.feed(b"data: " + b"x" * 900) == []
    with pytest.raises(TooLong):
        splitter.feed(b"x" * 100)
