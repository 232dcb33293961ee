"""The account that models are paid with: a key, or tokens."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler
from typing_extensions import TypeAliasType

from threadloom_protocol.model import EXPERIMENTAL, Event, Params, Result
from threadloom_protocol.spec import ClientRequest, ServerNotification, ServerRequest
from threadloom_protocol.v2.values.accounts import Account, AuthMode, PlanType, WorkspaceRouting


class GetAccountParams(Params):
    """Ask which account is in use, and whether one is needed. `refreshToken` renews its tokens first."""

    refresh_token: bool = False


class GetAccountResponse(Result):
    """The account, or null. A client that gets null and `requiresOpenaiAuth: false` needs no login."""

    account: Account | None = None
    requires_openai_auth: bool
    workspace_routing: Annotated[WorkspaceRouting | None, EXPERIMENTAL] = None


class LoginAccountParams(Params):
    """Log in, in one of several ways.

    `type` says which. A key or ready-made tokens hold at once, the other ways end with `account/login/completed`.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return handler.generate_schema(_LoginParams) if cls is LoginAccountParams else handler(source)


class ApiKeyLoginAccountParams(LoginAccountParams):
    """Use this key."""

    type: Literal["apiKey"] = "apiKey"
    api_key: str


LoginAppBrand = TypeAliasType("LoginAppBrand", Literal["codex", "chatgpt"])


class ChatgptLoginAccountParams(LoginAccountParams):
    """Log in with a browser on this machine."""

    type: Literal["chatgpt"] = "chatgpt"
    codex_streamlined_login: bool = False
    use_hosted_login_success_page: bool = False
    app_brand: LoginAppBrand | None = None


class ChatgptDeviceCodeLoginAccountParams(LoginAccountParams):
    """Log in with a code that is typed in on another device."""

    type: Literal["chatgptDeviceCode"] = "chatgptDeviceCode"


class ChatgptAuthTokensLoginAccountParams(LoginAccountParams):
    """Use tokens that the client holds and renews."""

    type: Literal["chatgptAuthTokens"] = "chatgptAuthTokens"
    access_token: str
    chatgpt_account_id: str
    chatgpt_plan_type: str | None = None


class AmazonBedrockLoginAccountParams(LoginAccountParams):
    """Use a Bedrock key."""

    type: Literal["amazonBedrock"] = "amazonBedrock"
    api_key: str
    region: str


class AmazonBedrockAccessKeysLoginAccountParams(LoginAccountParams):
    """Use a pair of AWS access keys."""

    type: Literal["amazonBedrockAccessKeys"] = "amazonBedrockAccessKeys"
    region: str
    access_key_id: str
    secret_access_key: str
    session_token: str | None = None


_LoginParams = TypeAliasType(  # type: ignore[misc]  # on the wire it has the name of the class
    "LoginAccountParams",
    Annotated[
        ApiKeyLoginAccountParams
        | ChatgptLoginAccountParams
        | ChatgptDeviceCodeLoginAccountParams
        | ChatgptAuthTokensLoginAccountParams
        | AmazonBedrockLoginAccountParams
        | AmazonBedrockAccessKeysLoginAccountParams,
        Field(discriminator="type"),
    ],
)


class LoginAccountResponse(Result):
    """What happens next, by the way of logging in."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return handler.generate_schema(_LoginResponse) if cls is LoginAccountResponse else handler(source)


class ApiKeyLoginAccountResponse(LoginAccountResponse):
    """The key is in use."""

    type: Literal["apiKey"] = "apiKey"


class ChatgptLoginAccountResponse(LoginAccountResponse):
    """Open this page to go on."""

    type: Literal["chatgpt"] = "chatgpt"
    login_id: str
    auth_url: str


class ChatgptDeviceCodeLoginAccountResponse(LoginAccountResponse):
    """Type this code in at that address."""

    type: Literal["chatgptDeviceCode"] = "chatgptDeviceCode"
    login_id: str
    verification_url: str
    user_code: str


class ChatgptAuthTokensLoginAccountResponse(LoginAccountResponse):
    """The tokens are in use."""

    type: Literal["chatgptAuthTokens"] = "chatgptAuthTokens"


class AmazonBedrockLoginAccountResponse(LoginAccountResponse):
    """The credentials are in use."""

    type: Literal["amazonBedrock"] = "amazonBedrock"


_LoginResponse = TypeAliasType(  # type: ignore[misc]  # on the wire it has the name of the class
    "LoginAccountResponse",
    Annotated[
        ApiKeyLoginAccountResponse
        | ChatgptLoginAccountResponse
        | ChatgptDeviceCodeLoginAccountResponse
        | ChatgptAuthTokensLoginAccountResponse
        | AmazonBedrockLoginAccountResponse,
        Field(discriminator="type"),
    ],
)


class CancelLoginAccountParams(Params):
    """Give up a login that has not ended yet."""

    login_id: str


CancelLoginAccountStatus = TypeAliasType("CancelLoginAccountStatus", Literal["canceled", "notFound"])


class CancelLoginAccountResponse(Result):
    """Whether there was one to give up."""

    status: CancelLoginAccountStatus


class LogoutAccountResponse(Result):
    """Done."""


class AccountUpdatedNotification(Event):
    """Another account is in use, or none any more."""

    auth_mode: AuthMode | None = None
    plan_type: PlanType | None = None


DesktopOnboardingEntrypoint = TypeAliasType("DesktopOnboardingEntrypoint", Literal["life_sciences"])


class AccountLoginCompletedNotification(Event):
    """A login ended, well or not."""

    login_id: str | None = None
    success: bool
    error: str | None = None
    onboarding_entrypoint: DesktopOnboardingEntrypoint | None = None


ChatgptAuthTokensRefreshReason = TypeAliasType("ChatgptAuthTokensRefreshReason", Literal["unauthorized"])


class ChatgptAuthTokensRefreshParams(Params):
    """Ask the client that brought the tokens for fresh ones."""

    reason: ChatgptAuthTokensRefreshReason
    previous_account_id: str | None = None


class ChatgptAuthTokensRefreshResponse(Result):
    """Fresh tokens."""

    access_token: str
    chatgpt_account_id: str
    chatgpt_plan_type: str | None = None


class LogoutAccountParams(Params):
    """Forget the key or the tokens of this home. Threads that run keep what they started with."""


READ = ClientRequest("account/read", GetAccountParams, GetAccountResponse)
LOGIN = ClientRequest("account/login/start", LoginAccountParams, LoginAccountResponse)
CANCEL_LOGIN = ClientRequest("account/login/cancel", CancelLoginAccountParams, CancelLoginAccountResponse)
LOGOUT = ClientRequest("account/logout", LogoutAccountParams, LogoutAccountResponse)
UPDATED = ServerNotification("account/updated", AccountUpdatedNotification)
LOGIN_COMPLETED = ServerNotification("account/login/completed", AccountLoginCompletedNotification)
REFRESH_TOKENS = ServerRequest(
    "account/chatgptAuthTokens/refresh", ChatgptAuthTokensRefreshParams, ChatgptAuthTokensRefreshResponse
)
