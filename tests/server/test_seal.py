"""The seal of a line: no bit of it changes unseen, and one that did is found."""

from __future__ import annotations

from pathlib import Path

import orjson
from tests.support.storing import event, events, opened, resealed, seqs, thread

from threadloom.events import model_line
from threadloom.seal import is_sealed, mended, sealed, unsealed
from threadloom.store.blobs import INLINE
from threadloom.store.codec import decode_line, seq_of

LINE = model_line(7, [{"@": "epoch", "epoch": 3}, {"type": "message", "text": "näch Haus"}])


def flips(raw: bytes) -> list[bytes]:
    """A line with each of its bits changed, one at a time."""
    whole = int.from_bytes(raw)
    return [(whole ^ 1 << bit).to_bytes(len(raw)) for bit in range(len(raw) * 8)]


def test_a_line_stays_one_object_and_its_seal_comes_last() -> None:
    assert LINE.endswith(b"}\n")
    assert list(orjson.loads(LINE)) == ["at", "model", "crc"]
    assert unsealed(LINE) == LINE[: LINE.index(b',"crc"')] + b"}\n"
    assert unsealed(unsealed(LINE)) == unsealed(LINE)


def test_every_bit_that_flips_is_seen_and_can_be_put_right() -> None:
    raw = LINE[:-1]
    assert decode_line(0, raw) is not None
    for it in flips(raw):
        assert decode_line(0, it) is None, it
        assert mended(it) == raw, it


def test_more_than_one_bit_is_not_put_right() -> None:
    raw = LINE[:-1]
    assert mended(b"??" + raw[2:]) is None
    assert mended(raw[:-9] + b"!!!" + raw[-6:]) is None
    assert mended(unsealed(LINE)[:-1]) is None
    assert mended(b"") is None


def test_a_line_without_a_seal_is_read_as_it_was_before_there_were_any() -> None:
    line = decode_line(0, event(4, "four")[:-1])
    assert line is not None
    assert (line.seq, seq_of(event(4)[:-1])) == (4, 4)
    assert seq_of(event(4)[:-1].replace(b'"seq":4', b'"seq":' + b"4" * 5000)) == 0


def test_a_number_that_is_damaged_leads_nobody_astray(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        log = thread(store, *map(resealed, events(1, 400)))
        offsets = {it.seq: it.offset for it in log.scan()}
        path = Path(str(log.path))
        path.write_bytes(path.read_bytes().replace(b'{"seq":200,', b'{"seq":900,'))
        reading = store.read(log.header.thread_id)
        assert all(reading.seek(seq) == offsets[seq + 1] for seq in range(1, 400) if seq != 199)
        assert (seqs(reading.scan()), reading.damaged) == ([*range(1, 200), *range(201, 401)], 1)


def test_a_line_whose_long_values_lie_elsewhere_is_sealed_as_it_is_stored(tmp_path: Path) -> None:
    with opened("file", tmp_path) as store:
        log = thread(store, resealed(event(1)))
        log.append([resealed(event(2, "x" * INLINE + "y"))])
        stored = Path(str(log.path)).read_bytes().splitlines()[-1]
        assert len(stored) < INLINE
        assert is_sealed(stored)
        assert sealed(unsealed(stored + b"\n")[:-2]) == stored + b"\n"
        assert seqs(store.read(log.header.thread_id).scan()) == [1, 2]
