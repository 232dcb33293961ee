"""What a model is to the rest of the house, and which ones there are."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from threadloom.agent.models.provider import Provider
from threadloom.agent.sampling import Model, ModelError

if TYPE_CHECKING:
    from threadloom.agent.models.local import Local
    from threadloom.agent.models.remote import Remote


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that threads can run on."""

    id: str
    provider: str
    name: str
    description: str
    efforts: tuple[str, ...] = ("low", "medium", "high")
    default_effort: str = "medium"
    context_window: int | None = None  # in tokens, where it is known
    modalities: tuple[Literal["text", "image"], ...] = ("text", "image")  # what it takes in


REHEARSAL: Final = ModelInfo(
    id="rehearsal",
    provider="rehearsal",
    name="Rehearsal",
    description="Built in, offline and deterministic: plays an agent so that everything can be tried with no key.",
)

LOCAL: Final = ModelInfo(
    id="smollm2-135m",
    provider="local",
    name="SmolLM2 135M",
    description="Runs on this machine with no key and no network. For talking: it cannot use tools.",
    efforts=("none",),
    default_effort="none",
    context_window=8192,
    modalities=("text",),
)


MOMENT: Final = 0.25  # seconds that a list of models is good for


class Catalog:
    """The models this server can run: its default one, and those of the providers that are configured."""

    def __init__(
        self,
        default: Callable[[], ModelInfo] = lambda: REHEARSAL,
        provider: Callable[[str], Provider | None] = lambda name: None,
        told: Callable[[str], None] = lambda text: None,  # what people should know
        renew: Callable[[str], Awaitable[bool]] | None = None,  # a key that was refused → whether there is another now
    ) -> None:
        self._default = default
        self._provider = provider
        self._told = told
        self._renew = renew
        self._rehearsal: Model | None = None
        self._remotes: dict[str, Remote | Local] = {}
        self._listed: tuple[float, tuple[ModelInfo, ...]] = (0.0, ())
        self._replaced: list[Remote | Local] = []  # a turn may still run on one

    @property
    def default(self) -> ModelInfo:
        """What a thread runs on unless it is told otherwise."""
        return self._default()

    def model(self, name: str, provider: str = REHEARSAL.provider) -> Model:
        """What runs a model: one for all that come from the same provider. Raises `ModelError`."""
        if provider != REHEARSAL.provider:
            found = self._remote(provider)
            _check(name, LOCAL if found.provider.embedded else None)
            return found
        _check(name, REHEARSAL)
        if self._rehearsal is None:
            from threadloom.agent.models.rehearsal import Rehearsal

            self._rehearsal = Rehearsal()
        return self._rehearsal

    def vouch(self, provider: str) -> None:
        """Raise `ModelError` where there is no such provider."""
        if provider != REHEARSAL.provider:
            self._remote(provider)

    async def listed(self) -> tuple[ModelInfo, ...]:
        """Every model there is, the default one first; as it was a moment ago, for clients ask often."""
        until, listed = self._listed
        if time.monotonic() >= until:
            listed = await self._list()
            self._listed = time.monotonic() + MOMENT, listed
        return listed

    async def _list(self) -> tuple[ModelInfo, ...]:
        default = self.default
        if default.provider == REHEARSAL.provider:
            return (default,)
        try:
            remote = self._remote(default.provider)
        except ModelError:  # whoever wants an answer of it hears why; clients do not start without a list
            return (default,)
        named = await remote.list_models()
        ours = next((it for it in named if it.id == default.id), default)
        return (ours, *(it for it in named if it.id != default.id))

    async def of(self, provider: str) -> tuple[ModelInfo, ...] | None:
        """The models of one provider; none while it cannot say which. Raises `ModelError` where there is no such."""
        if provider == REHEARSAL.provider:
            return (REHEARSAL,)
        remote = self._remote(provider)
        named, default = await remote.list_models(), self.default
        if remote.unlisted:
            return None
        known = default.provider != provider or default.id in {it.id for it in named}
        return named if known else (default, *named)

    def window(self, name: str, provider: str) -> int | None:
        """How many tokens a model may have before it, as far as its provider has said by now."""
        if provider == REHEARSAL.provider:
            return REHEARSAL.context_window
        try:
            return self._remote(provider).window(name)
        except ModelError:
            return None

    async def warm(self) -> None:
        """Get ready what the first turn needs; what is wrong with it, that turn will say."""
        with suppress(ModelError):
            if self.default.provider != REHEARSAL.provider:
                remote = self._remote(self.default.provider)
                await remote.warm()
                await remote.list_models()  # for `window`

    async def aclose(self) -> None:
        """Let every connection go."""
        for remote in (*self._remotes.values(), *self._replaced):
            await remote.aclose()

    def _remote(self, name: str) -> Remote | Local:
        """A provider as it is configured now: a new key or address makes a new one."""
        record = self._provider(name)
        if record is None:
            raise ModelError(
                f"There is no model provider `{name}`. Add [model_providers.{name}] to config.toml, "
                "or leave `model_provider` out.",
                "badRequest",
            )
        found = self._remotes.get(name)
        if found is not None and found.provider == record:
            return found
        if found is not None:
            self._replaced.append(found)
        self._remotes[name] = self._made(record)
        return self._remotes[name]

    def _made(self, record: Provider) -> Remote | Local:
        if record.embedded:
            from threadloom.agent.models.local import Local

            return Local(record, self._told)
        from threadloom.agent.models.remote import Remote

        return Remote(record, renewed=self._renewed)

    async def _renewed(self, refused: Provider) -> Remote | None:
        """The same provider with another key, where there is one."""
        from threadloom.agent.models.remote import Remote

        if self._renew is None or refused.api_key is None or not await self._renew(refused.api_key):
            return None
        found = self._remote(refused.id)
        return found if isinstance(found, Remote) and found.provider.api_key != refused.api_key else None


def _check(name: str, only: ModelInfo | None) -> None:
    """Whether a provider that has one model alone has this one."""
    if only is not None and name != only.id:
        raise ModelError(
            f"There is no model `{name}` from `{only.provider}` on this server. There is: {only.id}.", "modelNotFound"
        )
