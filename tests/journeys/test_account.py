"""The account, over every transport: who is logged in, login, logout, and what every client hears of it."""

from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support.places import Place, SocketPlace, StdioPlace

from threadloom_client import Client, Subscription
from threadloom_protocol.errors import InvalidParams, InvalidRequest
from threadloom_protocol.model import Event
from threadloom_protocol.v2 import account
from threadloom_protocol.v2.values.accounts import ApiKeyAccount, ChatgptAccount

SECRET = "sk-journey-secret"
SECONDS = 20.0


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server in this process sees no key of whoever runs the tests."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


async def who(client: Client) -> tuple[Any, bool]:
    answer = await client.request(account.READ, account.GetAccountParams(refresh_token=False))
    return answer.account, answer.requires_openai_auth


async def heard(events: Subscription[Any], count: int) -> list[Event]:
    found = []
    with anyio.fail_after(SECONDS):
        async for event in events:
            found.append(event.params)
            if len(found) == count:
                break
    return found


def token(**claims: Any) -> str:
    """A token that says this of itself."""
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"head.{body}.signature"


async def test_with_no_key_no_login_is_asked_for(place: Place) -> None:
    async with place.client() as client:
        assert await who(client) == (None, False)


async def test_a_key_is_taken_kept_and_forgotten(over: Place) -> None:
    async with over.client() as client:
        with client.notifications(account.LOGIN_COMPLETED, account.UPDATED) as events:
            answer = await client.request(account.LOGIN, account.ApiKeyLoginAccountParams(api_key=f" {SECRET}\n"))
            assert isinstance(answer, account.ApiKeyLoginAccountResponse)
            assert await heard(events, 2) == [
                account.AccountLoginCompletedNotification(success=True),
                account.AccountUpdatedNotification(auth_mode="apikey"),
            ]
        file = over.home / "auth.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert json.loads(file.read_text())["OPENAI_API_KEY"] == SECRET
        assert await who(client) == (ApiKeyAccount(), True)
    async with over.client() as later:
        assert await who(later) == (ApiKeyAccount(), True)
        with later.notifications(account.UPDATED) as events:
            await later.request(account.LOGOUT)
            assert await heard(events, 1) == [account.AccountUpdatedNotification(auth_mode=None)]
        assert await who(later) == (None, False)
    assert not file.exists()
    assert_unsaid(over)


def assert_unsaid(over: Place) -> None:
    """No server has written the secret where it does not belong."""
    room = over.home.parent
    texts = [path.read_text(errors="replace") for path in room.rglob("*") if path.is_file()]
    assert SECRET not in "".join(texts)
    if isinstance(over, StdioPlace | SocketPlace):
        assert list(Path(room).glob("stderr*.log")), "there is something to look through"


async def test_every_client_hears_of_it(open_place: Place) -> None:
    async with open_place.client() as one, open_place.client() as other:
        with other.notifications(account.UPDATED) as events:
            await one.request(account.LOGIN, account.ApiKeyLoginAccountParams(api_key=SECRET))
            await one.request(account.LOGOUT)
            assert await heard(events, 2) == [
                account.AccountUpdatedNotification(auth_mode="apikey"),
                account.AccountUpdatedNotification(auth_mode=None),
            ]


async def test_the_answer_comes_before_the_news_and_a_read_behind_it_sees_it(over: Place) -> None:
    async with over.wire() as wire:
        await wire.send(
            {"id": 1, "method": "account/login/start", "params": {"type": "apiKey", "apiKey": SECRET}},
            {"id": 2, "method": "account/read", "params": {}},
        )
        said = [await wire.read() for _ in range(4)]
        order = [message.get("id") or message["method"] for message in said]
        assert order.index(1) < order.index("account/login/completed") < order.index("account/updated")
        assert next(it for it in said if it.get("id") == 2)["result"]["account"] == {"type": "apiKey"}


@pytest.mark.parametrize(
    ("lent", "plan", "email"),
    [
        (token(email="a@example.org"), "pro", "a@example.org"),
        (token(**{"https://api.openai.com/auth": {"chatgpt_plan_type": "plus"}}), None, None),
        ("opaque", None, None),
    ],
)
async def test_tokens_of_a_client_are_used_and_not_kept(
    over: Place, lent: str, plan: str | None, email: str | None
) -> None:
    params = account.ChatgptAuthTokensLoginAccountParams(
        access_token=lent, chatgpt_account_id="acc", chatgpt_plan_type=plan
    )
    expected = plan or ("plus" if lent != "opaque" else "unknown")
    async with over.client() as client:
        with client.notifications(account.UPDATED) as events:
            answer = await client.request(account.LOGIN, params)
            assert isinstance(answer, account.ChatgptAuthTokensLoginAccountResponse)
            (updated,) = await heard(events, 1)
            assert updated == account.AccountUpdatedNotification(auth_mode="chatgptAuthTokens", plan_type=expected)
        assert (await who(client))[0] == ChatgptAccount(email=email, plan_type=expected)
        assert not (over.home / "auth.json").exists()
        await client.request(account.LOGOUT)
        assert await who(client) == (None, False)


@pytest.mark.parametrize(
    "params",
    [
        account.ChatgptLoginAccountParams(),
        account.ChatgptDeviceCodeLoginAccountParams(),
        account.AmazonBedrockLoginAccountParams(api_key=SECRET, region="r"),
        account.AmazonBedrockAccessKeysLoginAccountParams(access_key_id="i", secret_access_key=SECRET, region="r"),
    ],
)
async def test_what_this_server_cannot_do_says_what_to_do_instead(
    place: Place, params: account.LoginAccountParams
) -> None:
    async with place.client() as client:
        with pytest.raises(InvalidRequest, match=r"Log in with an API key .*OPENAI_API_KEY.*model_provider") as refused:
            await client.request(account.LOGIN, params)
        assert SECRET not in str(refused.value)
        assert await who(client) == (None, False)


@pytest.mark.parametrize("key", ["", "  ", f"{SECRET}\nX-Evil: 1", f"{SECRET}\x00", f"{SECRET}é"])
async def test_what_cannot_be_a_key_is_refused_without_repeating_it(place: Place, key: str) -> None:
    async with place.client() as client:
        with pytest.raises(InvalidRequest, match="apiKey must be printable") as refused:
            await client.request(account.LOGIN, account.ApiKeyLoginAccountParams(api_key=key))
        assert SECRET not in str(refused.value)
        with pytest.raises(InvalidParams) as malformed:
            await client.call("account/login/start", {"type": "apiKey", "apiKey": [SECRET]})
        assert SECRET not in str(malformed.value)
        assert await who(client) == (None, False)


async def test_there_is_never_a_login_to_give_up(place: Place) -> None:
    async with place.client() as client:
        params = account.CancelLoginAccountParams(login_id="0193b7d0-0000-7000-8000-000000000000")
        assert (await client.request(account.CANCEL_LOGIN, params)).status == "notFound"
        with pytest.raises(InvalidRequest, match="invalid login id: nope"):
            await client.request(account.CANCEL_LOGIN, account.CancelLoginAccountParams(login_id="nope"))


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ('model_provider = "openai"\n', True),
        ('model_provider = "mine"\n[model_providers.mine]\nbase_url = "http://127.0.0.1:9"\n', False),
        ('model_provider = "mine"\n[model_providers.mine]\nrequires_openai_auth = true\n', True),
        ('model_provider = "rehearsal"\n', False),
    ],
)
async def test_a_login_is_asked_for_where_the_provider_needs_one(over: Place, text: str, needs: bool) -> None:
    over.home.mkdir(exist_ok=True)
    (over.home / "config.toml").write_text(text)
    async with over.client() as client:
        assert await who(client) == (None, needs)
        await client.request(account.LOGIN, account.ApiKeyLoginAccountParams(api_key=SECRET))
        assert await who(client) == (ApiKeyAccount(), needs)
