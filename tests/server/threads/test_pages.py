"""Turns as JSON, as they are kept for a long answer."""

from __future__ import annotations

import pytest

from threadloom.threads.pages import side_by_side


@pytest.mark.parametrize("pieces", [[], [b"{}"], [b'{"id":"a"}', b"{}", b'{"id":"\xc3\xa4"}'], [b"x" * 70_000, b"y"]])
def test_pieces_are_the_same_side_by_side_in_one_block(pieces: list[bytes]) -> None:
    packed = list(side_by_side(pieces))
    assert packed == pieces
    assert len({id(it.obj) for it in packed}) == min(1, len(pieces))
    assert b",".join(packed) == b",".join(pieces)
