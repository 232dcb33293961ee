"""OpenAI's SDK: logging in and out."""

from __future__ import annotations

import pytest
from openai_codex import CodexRpcError, InvalidRequestError
from tests.clients.sdk import LEAVES_PIPES, Bench

pytestmark = LEAVES_PIPES

KEY = "sk-a-key-that-opens-nothing"


def test_no_account_is_needed_for_the_built_in_model(bench: Bench) -> None:
    with bench.codex() as codex:
        account = codex.account()
    assert account.account is None
    assert account.requires_openai_auth is False


def test_a_key_is_kept_over_a_restart_until_logout_and_is_never_told(bench: Bench) -> None:
    with bench.codex() as codex:
        codex.login_api_key(KEY)
        assert codex.account().account is not None
    with bench.codex() as codex:
        account = codex.account(refresh_token=True).account
        assert account is not None
        assert account.root.type == "apiKey"
        codex.logout()
        assert codex.account().account is None
    with bench.codex() as codex:
        assert codex.account().account is None
    assert not [line for line in bench.recorded.heard() if KEY.encode() in line]
    left = [path for path in bench.home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert left == []


def test_a_key_that_cannot_be_one_is_refused_without_being_repeated(bench: Bench) -> None:
    with bench.codex() as codex:
        with pytest.raises(InvalidRequestError, match="apiKey") as refusal:
            codex.login_api_key("a key\nof two lines")
        assert codex.account().account is None
    assert "two lines" not in str(refusal.value)


def test_logins_that_need_a_browser_are_refused_with_a_way_out(bench: Bench) -> None:
    with bench.codex() as codex:
        for login in (codex.login_chatgpt, codex.login_chatgpt_device_code):
            with pytest.raises(CodexRpcError, match="API key"):
                login()
        assert codex.thread_start().run("echo hello").final_response == "hello"


async def test_login_and_logout_with_an_event_loop(bench: Bench) -> None:
    async with bench.async_codex() as codex:
        await codex.login_api_key(KEY)
        account = (await codex.account()).account
        assert account is not None
        assert account.root.type == "apiKey"
        await codex.logout()
        assert (await codex.account()).account is None
