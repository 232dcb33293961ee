"""A key goes to its provider and nowhere else: no log, no repr, no error, no other server."""

from __future__ import annotations

import logging
import traceback

import pytest
from tests.server.agent.models.asking import ask, sampling, scripted
from tests.support.mock_model import Drop, Reply, failed, says, sse, wrong

from threadloom.agent.models.provider import HIDDEN, Provider
from threadloom.agent.sampling import Model, ModelError, ModelEvent, Retrying

KEY = "sk-very-secret-0123456789"
TOKEN = "tok-9876"


def test_a_provider_shows_no_secrets() -> None:
    provider = Provider(
        "p",
        base_url="https://me:pass@host/v1",
        api_key=KEY,
        http_headers={"api-key": TOKEN},
        query_params={"key": "q-12"},
    )
    shown = repr(provider)
    assert all(secret not in shown for secret in (KEY, TOKEN, "q-12"))
    text = f"Bad key {KEY}; header {TOKEN}; https://me:pass@host/?key=q-12; Bearer abc.def, done"
    hidden = f"Bad key {HIDDEN}; header {HIDDEN}; https://{HIDDEN}@host/?key={HIDDEN}; Bearer {HIDDEN}, done"
    assert provider.redact(text) == hidden


def test_words_that_are_no_secrets_stay() -> None:
    provider = Provider("p", http_headers={"X-Team": "weavers", "Authorization": "Basic Zm9v"})
    assert provider.redact("weavers: Basic Zm9v, Zm9v, sk- and ask-me-not") == (
        f"weavers: {HIDDEN}, {HIDDEN}, sk- and ask-me-not"
    )


LEAKS = [
    pytest.param(wrong(401, f"Incorrect API key provided: {KEY}."), id="a server that repeats the key"),
    pytest.param(wrong(401, "Incorrect API key provided: sk-very***6789."), id="a server that repeats some of it"),
    pytest.param(Reply([sse(failed(f"Who is {KEY}?"))]), id="a model that repeats the key"),
    pytest.param(Reply([f"<b>{KEY}</b>".encode()], 500, {"content-type": "text/html"}), id="a page that repeats it"),
    pytest.param(Reply(first=[Drop()]), id="a connection that breaks"),
]


@pytest.mark.parametrize("reply", LEAKS)
async def test_no_error_and_no_log_has_the_key_in_it(
    reply: Reply, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    heard: list[ModelEvent] = []

    async def listen(model: Model) -> None:
        async for batch in model.stream(sampling()):
            heard.extend(batch)

    async with scripted(rest=reply, api_key=KEY, request_max_retries=1, stream_max_retries=1) as (server, model):
        with pytest.raises(ModelError) as failure:
            await listen(model)
    assert server.posts[0].headers["authorization"] == f"Bearer {KEY}"
    retried = [event.reason for event in heard if isinstance(event, Retrying)]
    told = [str(failure.value), *_chain(failure.value), *retried, caplog.text, *capfd.readouterr()]
    assert all("sk-very" not in text for text in told)


def _chain(error: BaseException) -> list[str]:
    """The error as a log would print it, with all that led to it."""
    linked = [it for it in (error.__cause__, error.__context__) if it is not None]
    return [repr(error), "".join(traceback.format_exception(error)), *(text for it in linked for text in _chain(it))]


AMBIENT = {
    "OPENAI_API_KEY": KEY,
    "OPENAI_ADMIN_KEY": KEY,
    "OPENAI_ORG_ID": KEY,
    "OPENAI_PROJECT_ID": KEY,
    "OPENAI_CUSTOM_HEADERS": f"X-Mine: {KEY}\nAuthorization: Bearer {KEY}",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
}


@pytest.mark.parametrize("given", [None, "", "own"])
async def test_nothing_in_the_environment_reaches_a_server(given: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    async with scripted(says("Hi."), api_key=given) as (server, model):
        await ask(model)
    [request] = server.requests
    assert KEY not in str(request.headers)
    assert request.headers.get("authorization") == ("Bearer own" if given else None)
    assert not [name for name in request.headers if name.startswith(("x-", "openai-"))]


async def test_a_key_that_is_not_set_is_asked_for_by_its_name() -> None:
    async with scripted(env_key="WEAVE_KEY", name="Weavers", env_key_instructions="Ask Ada.") as (server, model):
        with pytest.raises(ModelError, match=r"^Weavers needs the environment variable `WEAVE_KEY`\. Ask Ada\.$") as no:
            await ask(model)
    assert no.value.info == "unauthorized"
    assert server.requests == []


async def test_a_header_with_a_line_break_is_not_sent() -> None:
    async with scripted(rest=says("Hi."), http_headers={"X-Key": "a\r\nX-Other: b"}) as (server, model):
        with pytest.raises(ModelError, match="line break") as failure:
            await ask(model)
    assert "X-Other" not in failure.value.message
    assert server.requests == []
