"""Accounts that models are paid with."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Value


class ApiKeyAccount(Value):
    """A key of the model provider."""

    type: Literal["apiKey"] = "apiKey"


PlanType = TypeAliasType(
    "PlanType",
    Literal[
        "free",
        "go",
        "plus",
        "pro",
        "prolite",
        "promax",
        "team",
        "self_serve_business_prolite",
        "self_serve_business_usage_based",
        "business",
        "ent26",
        "enterprise_cbp_automation",
        "enterprise_cbp_usage_based",
        "enterprise",
        "edu",
        "edu_plus",
        "edu_pro",
        "sci",
        "sci_plus",
        "unknown",
    ],
)


class ChatgptAccount(Value):
    """A ChatGPT account and its plan."""

    type: Literal["chatgpt"] = "chatgpt"
    email: str | None
    plan_type: PlanType
    workspace_name: str | None = None


class AmazonBedrockAccount(Value):
    """Models by way of Amazon Bedrock."""

    type: Literal["amazonBedrock"] = "amazonBedrock"
    uses_codex_managed_credentials: bool = False


class GcpAccount(Value):
    """Models by way of Google Cloud."""

    type: Literal["gcp"] = "gcp"


Account = TypeAliasType(
    "Account",
    Annotated[ApiKeyAccount | ChatgptAccount | AmazonBedrockAccount | GcpAccount, Field(discriminator="type")],
)


AccountRoutingOverride = TypeAliasType("AccountRoutingOverride", Literal["NO_CONSTRAINT", "us", "us_cr"])


class WorkspaceRouting(Value):
    """Where requests of a ChatGPT workspace go."""

    chatgpt_account_id: str
    backend_origin: str
    account_routing_override: AccountRoutingOverride


AuthMode = TypeAliasType(
    "AuthMode",
    Literal[
        "apikey",
        "chatgpt",
        "chatgptAuthTokens",
        "headers",
        "agentIdentity",
        "personalAccessToken",
        "bedrockApiKey",
        "bedrockAccessKeys",
    ],
)
