"""The handshake read by hand accepts, refuses and says what the declaration does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from threadloom import handshake
from threadloom_protocol.errors import InvalidParams
from threadloom_protocol.v2.lifecycle import InitializeParams, InitializeResponse

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
PRINTABLE = st.text(alphabet=st.characters(codec="ascii", exclude_categories=["C"]), min_size=1, max_size=8)
INFO = st.fixed_dictionaries(
    {}, optional={"name": PRINTABLE | SCALARS, "version": PRINTABLE | SCALARS, "title": SCALARS}
)
CAPABILITIES = st.fixed_dictionaries(
    {},
    optional={
        "experimentalApi": SCALARS,
        "optOutNotificationMethods": SCALARS | st.lists(st.text(max_size=3) | st.integers(), max_size=3),
        "unknown": SCALARS,
    },
)
PARAMS = st.fixed_dictionaries({}, optional={"clientInfo": INFO | SCALARS, "capabilities": CAPABILITIES | SCALARS})


def declared(params: Any) -> InitializeParams | None:
    try:
        return InitializeParams.model_validate(params)
    except ValidationError:
        return None


def by_hand(params: Any) -> handshake.Client | None:
    try:
        return handshake.read(params)
    except InvalidParams:
        return None


@settings(max_examples=400, deadline=None)
@given(PARAMS | SCALARS)
def test_the_hand_and_the_declaration_agree(params: Any) -> None:
    model = declared(params)
    client = by_hand(params)
    if model is not None and not model.client_info.name.isprintable():
        model = None  # the one rule a schema does not say
    assert (client is None) == (model is None)
    if client is not None and model is not None:
        wants = model.capabilities
        assert (client.name, client.version, client.title) == (
            model.client_info.name,
            model.client_info.version,
            model.client_info.title,
        )
        assert client.experimental == bool(wants and wants.experimental_api)
        assert client.muted == frozenset((wants and wants.opt_out_notification_methods) or ())


def test_the_greeting_is_what_is_declared() -> None:
    greeting = handshake.greet(handshake.Client(name="ide", version="1"), Path("/home/me/.threadloom"), "none")
    parsed = InitializeResponse.model_validate(greeting)
    assert parsed.model_dump(by_alias=True, exclude_none=True) == greeting
    assert parsed.user_agent.startswith(f"ide/{handshake.CODEX_VERSION} (")
    assert "(threadloom " in parsed.user_agent


@pytest.mark.parametrize(
    ("params", "says"),
    [
        (None, "params must be an object"),
        ({}, "clientInfo is missing"),
        ({"clientInfo": {"version": "1"}}, "clientInfo.name is missing"),
        ({"clientInfo": {"name": "a\rb", "version": "1"}}, "control characters"),
        ({"clientInfo": {"name": "a", "version": 1}}, "clientInfo.version must be a string"),
        ({"clientInfo": {"name": "a", "version": "1"}, "capabilities": []}, "capabilities must be an object"),
    ],
)
def test_a_refusal_says_what_is_wrong(params: Any, says: str) -> None:
    with pytest.raises(InvalidParams, match=says):
        handshake.read(params)
