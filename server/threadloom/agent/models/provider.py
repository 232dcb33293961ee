"""A server that runs models, and how it wants to be asked: `[model_providers.ID]`, with keys and headers looked up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

OPENAI: Final = "https://api.openai.com/v1"

WireApi = Literal["responses", "chat"]

# Headers and query parameters whose values are nobody's business.
_SECRET: Final = re.compile(r"key|token|secret|auth|password|cookie", re.IGNORECASE)
# What looks like a key wherever it turns up, such as in a server's complaint about it.
_KEYLIKE: Final = re.compile(r"\bsk-[\w*-]{4,}|(?<=\bBearer )[^\s\"',]+", re.IGNORECASE)
# Models of OpenAI's that call tools with plain text.
_FREE: Final = re.compile(r"gpt-([5-9]|\d\d)|codex")
# How many tokens models of OpenAI's take in, which its list does not say.
_WINDOWS: Final = (
    (re.compile(r"codex-mini|o[134]\b"), 200_000),
    (_FREE, 272_000),
    (re.compile(r"gpt-4\.1"), 1_047_576),
    (re.compile(r"gpt-4o|gpt-4-turbo"), 128_000),
)
SHORTEST: Final = 4  # characters of a secret: to hide less would hide words
HIDDEN: Final = "[hidden]"


@dataclass(frozen=True, slots=True)
class Provider:
    """Where it is, what it speaks, and how patient one is with it."""

    id: str
    name: str = ""
    base_url: str = OPENAI
    wire_api: WireApi = "responses"
    env_key: str | None = None  # the variable that holds the key
    env_key_instructions: str | None = None  # what to do where it is not set
    api_key: str | None = field(default=None, repr=False)
    request_max_retries: int = 4
    stream_max_retries: int = 5
    stream_idle_timeout_ms: int = 300_000
    query_params: Mapping[str, str] = field(default_factory=dict, repr=False)
    http_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    requires_openai_auth: bool = False
    tools: bool = True  # whether its models can call them
    freeform: bool | None = None  # whether its models can call them with plain text; by their names where not known
    images: bool = True  # whether its models can see them
    embedded: bool = False  # the one that this server brings along, and starts

    def writes_freely(self, model: str) -> bool:
        """Whether a model of this server can call a tool with plain text."""
        if self.freeform is not None:
            return self.freeform
        return self.is_openai and _FREE.match(model) is not None

    def window(self, model: str) -> int | None:
        """How many tokens a model of this server may have before it, where that is known without asking."""
        known = _WINDOWS if self.is_openai else ()
        return next((size for named, size in known if named.match(model)), None)

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI's own."""
        return self.base_url.rstrip("/") == OPENAI

    @property
    def title(self) -> str:
        """What people call it."""
        return self.name or self.id

    @property
    def idle(self) -> float:
        """Seconds that a stream may be silent."""
        return self.stream_idle_timeout_ms / 1000

    def redact(self, text: str) -> str:
        """A text with no secret in it."""
        for secret in self._secrets():
            text = text.replace(secret, HIDDEN)
        return _KEYLIKE.sub(HIDDEN, text)

    def _secrets(self) -> list[str]:
        named = [*self.http_headers.items(), *self.query_params.items()]
        values = [value for name, value in named if _SECRET.search(name)]
        values += [word for value in values for word in value.split()[1:]]  # `Basic …` without its first word
        _, _, place = self.base_url.partition("://")
        login, at, _ = place.partition("/")[0].rpartition("@")
        found = {it for it in [self.api_key or "", *values, login if at else ""] if len(it) >= SHORTEST}
        return sorted(found, key=len, reverse=True)
