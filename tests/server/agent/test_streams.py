"""Items that are streamed: encoded by hand as the model of them would be, and kept once."""

from __future__ import annotations

from typing import Any, cast
from unittest.mock import Mock

from hypothesis import example, given
from hypothesis import strategies as st

from threadloom.agent.streams import Message

TURN = cast(Any, Mock(thread_id='th"read', turn_id="turn%s"))


@given(st.text())
@example("")
@example('"\\\b\f\n\r\t\x00\x1f\x7f\x80\u2028\u2029\ufeff\U0001f600')
def test_a_piece_of_a_message_is_encoded_byte_for_byte_as_its_model_is(text: str) -> None:
    emission = Message(TURN, "item\n1", 1).more(text)
    assert emission.body == emission.event.to_json()


def test_a_message_is_kept_once_for_clients_and_the_model() -> None:
    message = Message(TURN, "item", 1)
    for piece in ("warp", " and ", "weft"):
        message.more(piece)
    [remembered] = message.remembered()
    assert message.item().text == "warp and weft"
    assert message.item().text is remembered["content"][0]["text"]
