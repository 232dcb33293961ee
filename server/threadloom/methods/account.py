"""The account that models are paid with: who is logged in, login, logout."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, get_args
from uuid import UUID

import anyio
from anyio import to_thread

from threadloom.config.auth import Login
from threadloom.ids import uuid7
from threadloom.log import logger
from threadloom.routes import Context, Then, answers
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.jsonrpc import Response
from threadloom_protocol.v2 import account
from threadloom_protocol.v2.values.accounts import Account, ApiKeyAccount, ChatgptAccount, PlanType

PATIENCE: Final = 10.0  # seconds that a client has to find fresh tokens

log = logger(__name__)

# Where ChatGPT puts what it says of a person into a token.
_CLAIMS: Final = "https://api.openai.com/auth"

_REFUSALS: Final[dict[type, str]] = {
    account.ChatgptLoginAccountParams: "This server cannot log in to ChatGPT in a browser.",
    account.ChatgptDeviceCodeLoginAccountParams: "This server cannot log in to ChatGPT with a device code.",
    account.AmazonBedrockLoginAccountParams: "This server cannot use Amazon Bedrock.",
    account.AmazonBedrockAccessKeysLoginAccountParams: "This server cannot use Amazon Bedrock.",
}
_INSTEAD: Final = (
    "Log in with an API key (`type: apiKey`), set OPENAI_API_KEY before it starts, or name another provider in "
    "config.toml (`model_provider` and `[model_providers.ID]`)."
)


@answers(account.READ)
async def read(ctx: Context, params: account.GetAccountParams) -> account.GetAccountResponse:
    """Who is logged in, and whether that is needed: not where the provider asks for no account, or has its key."""
    async with ctx.keyring.lock:
        login = ctx.keyring.login
    provider = (await ctx.configuration.read()).config.provider
    needs = provider is not None and provider.requires_openai_auth
    keyless = provider is not None and ctx.keyring.bearer(provider) is None
    return account.GetAccountResponse(
        account=_account(login) if login is not None else None,
        requires_openai_auth=needs and (login is not None or keyless),
    )


def _account(login: Login) -> Account:
    if login.mode == "apikey":
        return ApiKeyAccount()
    email = login.claims.get("email")
    return ChatgptAccount(email=email if isinstance(email, str) else None, plan_type=_plan(login))


def _plan(login: Login) -> PlanType:
    claims = login.claims.get(_CLAIMS)
    said: Any = login.plan or (claims.get("chatgpt_plan_type") if isinstance(claims, dict) else None)
    plan: PlanType = said if said in get_args(PlanType.__value__) else "unknown"
    return plan


@answers(account.LOGIN)
async def login(ctx: Context, params: account.LoginAccountParams) -> Then[account.LoginAccountResponse]:
    """Log in with a key, which is kept, or with tokens that the client keeps."""
    match params:
        case account.ApiKeyLoginAccountParams():
            async with ctx.keyring.lock:
                await to_thread.run_sync(ctx.keyring.store, _secret(params.api_key, "apiKey"))
            return Then(account.ApiKeyLoginAccountResponse(), partial(_logged_in, ctx))
        case account.ChatgptAuthTokensLoginAccountParams():
            async with ctx.keyring.lock:
                ctx.keyring.lend(_tokens(params), partial(_fresh, ctx))
            return Then(account.ChatgptAuthTokensLoginAccountResponse(), partial(_logged_in, ctx))
        case _:
            raise InvalidRequest(f"{_REFUSALS[type(params)]} {_INSTEAD}")


def _tokens(given: account.ChatgptAuthTokensLoginAccountParams | account.ChatgptAuthTokensRefreshResponse) -> Login:
    token, owner = _secret(given.access_token, "accessToken"), _secret(given.chatgpt_account_id, "chatgptAccountId")
    return Login("chatgptAuthTokens", token, owner, given.chatgpt_plan_type)


async def _fresh(ctx: Context, stale: Login) -> Login | None:
    """Ask the client that lent tokens for fresh ones; none where it has gone, has none, or takes too long."""
    params = account.ChatgptAuthTokensRefreshParams(reason="unauthorized", previous_account_id=stale.account_id)
    said: list[Response] = []
    answered = anyio.Event()

    def take(response: Response) -> None:
        said.append(response)
        answered.set()

    ctx.peer.ask(f"account-{uuid7()}", account.REFRESH_TOKENS, params, take)
    with anyio.move_on_after(PATIENCE):
        await answered.wait()
    try:
        return _tokens(account.REFRESH_TOKENS.result.model_validate(said[0].result)) if said else None
    except (ValueError, InvalidRequest):  # what it sent is nobody's business
        log.warning("a client has no fresh tokens", code=(said[0].error or {}).get("code"))
        return None


def _secret(text: str, name: str) -> str:
    """What can stand in a header. The error does not say what was sent."""
    text = text.strip()
    if not text or not text.isascii() or not text.isprintable():
        raise InvalidRequest(f"{name} must be printable ASCII, and not empty")
    return text


def _logged_in(ctx: Context) -> None:
    ctx.services.announce(account.LOGIN_COMPLETED, account.AccountLoginCompletedNotification(success=True))
    _updated(ctx)


def _updated(ctx: Context) -> None:
    ctx.configuration.refresh()
    now = ctx.keyring.login
    plan = _plan(now) if now is not None and now.mode != "apikey" else None
    event = account.AccountUpdatedNotification(auth_mode=now.mode if now is not None else None, plan_type=plan)
    ctx.services.announce(account.UPDATED, event)


@answers(account.CANCEL_LOGIN)
def cancel_login(ctx: Context, params: account.CancelLoginAccountParams) -> account.CancelLoginAccountResponse:
    """Every login here ends at once, so there is never one to give up."""
    try:
        UUID(params.login_id)
    except ValueError:
        raise InvalidRequest(f"invalid login id: {params.login_id}") from None
    return account.CancelLoginAccountResponse(status="notFound")


@answers(account.LOGOUT)
async def logout(ctx: Context, params: account.LogoutAccountParams) -> Then[account.LogoutAccountResponse]:
    """Forget the key or the tokens."""
    async with ctx.keyring.lock:
        await to_thread.run_sync(ctx.keyring.forget)
    return Then(account.LogoutAccountResponse(), partial(_updated, ctx))
