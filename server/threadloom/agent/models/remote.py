"""A model on a server that speaks the Responses API or Chat Completions: asked, asked again, and listened to."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress

import anyio
import orjson

from threadloom.agent.models import chat, responses
from threadloom.agent.models.base import ModelInfo
from threadloom.agent.models.client import Client, Reply
from threadloom.agent.models.decoding import Decoding
from threadloom.agent.models.failure import Failure, disconnected
from threadloom.agent.models.limits import MOST_TIMES, Pictures, instructed_first, sealed, within, without
from threadloom.agent.models.listing import Listing
from threadloom.agent.models.provider import Provider
from threadloom.agent.models.retry import Again, Tries
from threadloom.agent.models.sse import Splitter, TooLong
from threadloom.agent.sampling import ModelError, ModelEvent, Retrying, Sampling

Renewed = Callable[[Provider], Awaitable["Remote | None"]]  # one whose key was refused → the same with another key


class Remote:
    """One provider: the models it has differ by name alone. `aclose` lets its connections go."""

    def __init__(
        self,
        provider: Provider,
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        chance: Callable[[], float] = random.random,
        renewed: Renewed | None = None,
    ) -> None:
        self.provider = provider
        self._client = Client(provider)
        self._listing = Listing(provider.id, self._client)
        self._sleep = sleep
        self._chance = chance
        self._renewed = renewed
        self._wire_api = provider.wire_api  # that the server turned out to speak
        self._proven = provider.wire_api == "chat"  # it has answered in it: a page that is missing now is a mishap
        self._unreasoning: set[str] = set()  # models that take no word about reasoning
        self._unseen: set[int] = set()  # pictures that the server did not take
        self._unknown: dict[str, frozenset[str]] = {}  # members of a request that models know nothing of
        self._instructs_first = False  # it takes instructions at the very beginning alone
        self._wants_thoughts = False  # it takes nothing of the model's without what had led to it
        self._strange: set[int] = set()  # reasoning that the server cannot open

    async def warm(self) -> None:
        """Import what the first request needs, off the loop."""
        with suppress(Failure):  # the first request tells
            await self._client.warm()

    async def aclose(self) -> None:
        """Close what is open."""
        await self._client.aclose()

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models that the server names; none where it names none."""
        return await self._listing.models()

    @property
    def unlisted(self) -> bool:
        """Whether the server could not be asked for its models, though it may have a list."""
        return self._listing.failed

    def window(self, name: str) -> int | None:
        """How many tokens a model may have before it, where the server has said, or is known to take so many."""
        return self._listing.window(name) or self.provider.window(name)

    async def stream(self, sampling: Sampling) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """What the model sends: see `Model`."""
        self._check()
        pictures = Pictures(within(sampling, self.provider), self._unseen)
        asked, tries = self, Tries(self.provider, self._chance)
        while True:
            try:
                async with aclosing(asked._sample(pictures.sampling())) as batches:
                    async for batch in batches:
                        pictures.settle()
                        yield batch
                return
            except Failure as failure:
                again, refusal = tries.next(failure), failure
            if refusal.no_pictures and pictures.fewer():
                again = Again(pictures.times, MOST_TIMES, 0.0)
            if refusal.info == "unauthorized" and asked is self and self._renewed is not None:
                asked = await self._renewed(self.provider) or self
                if asked is not self:
                    continue
            reason = asked.provider.redact(refusal.message)
            if again is None:
                raise ModelError(reason, refusal.info)
            yield [Retrying(reason, again.attempt, again.of, refusal.info)]
            await self._sleep(again.seconds)

    def _check(self) -> None:
        if self.provider.env_key and not self.provider.api_key:
            hint = self.provider.env_key_instructions or "It holds the key."
            raise ModelError(
                f"{self.provider.title} needs the environment variable `{self.provider.env_key}`. {hint}",
                "unauthorized",
            )

    async def _sample(self, sampling: Sampling) -> AsyncGenerator[list[ModelEvent], None]:
        """One try. Raises `Failure`."""
        reply, decoder = await self._ask(sampling)
        try:
            if reply.kind == "application/json":
                yield await _whole(reply, decoder)
                return
            splitter = Splitter()
            while not decoder.done:
                batch: list[ModelEvent] = []
                failure = await _listen(reply, splitter, decoder, batch)
                if batch:
                    yield batch
                if failure is not None:
                    raise failure
        finally:
            await reply.close(whole=decoder.done)

    # ── asking ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _ask(self, sampling: Sampling) -> tuple[Reply, Decoding]:
        """One request; another one only where the server does not understand it, and then never again so."""
        while True:
            try:
                answer = await self._post(sampling, self._wire_api)
            except Failure as failure:
                refusal = failure
            else:
                self._proven = True
                return answer
            if not self._proven and refusal.no_such_page:
                return await self._ask_in_chat(sampling, refusal)
            if not self._learns(refusal, sampling):
                break
        if refusal.no_reasoning and sampling.model not in self._unreasoning:
            answer = await self._post(sampling, self._wire_api, reasoning=False)
            self._unreasoning.add(sampling.model)
            return answer
        raise refusal

    def _learns(self, refusal: Failure, sampling: Sampling) -> bool:
        """Whether there is another way to ask: from now on it is asked in that one."""
        unknown = self._unknown.get(sampling.model, frozenset())
        if not refusal.unknown <= unknown:
            self._unknown[sampling.model] = unknown | refusal.unknown
        elif refusal.wants_thoughts and not self._wants_thoughts:
            self._wants_thoughts = True
        elif refusal.out_of_place and not self._instructs_first:
            self._instructs_first = True
        elif refusal.no_key and (strange := sealed(sampling.history) - self._strange):
            self._strange |= strange
        else:
            return False
        return True

    async def _ask_in_chat(self, sampling: Sampling, refusal: Failure) -> tuple[Reply, Decoding]:
        try:
            answer = await self._post(sampling, "chat")
        except Failure as failure:
            if failure.no_such_page:
                raise refusal from None
            self._wire_api, self._proven = "chat", True
            if not self._learns(failure, sampling):
                raise
            return await self._ask(sampling)
        self._wire_api, self._proven = "chat", True
        return answer

    async def _post(self, sampling: Sampling, wire_api: str, *, reasoning: bool = True) -> tuple[Reply, Decoding]:
        decoder: Decoding
        reasoning = reasoning and sampling.model not in self._unreasoning
        first = self._instructs_first
        sampling = without(instructed_first(sampling) if first else sampling, self._strange)
        if wire_api == "chat":
            # The model of our own may say little at a time, as its users are told: that is no failure.
            page, body = chat.PAGE, chat.request(sampling, reasoning=reasoning, thoughts=self._wants_thoughts)
            decoder = chat.Decoder(capped=self.provider.embedded)
        else:
            page, body = responses.PAGE, responses.request(sampling, reasoning=reasoning, first=first)
            decoder = responses.Decoder()
        for name in self._unknown.get(sampling.model, ()):
            body.pop(name, None)
        reply = await self._client.post(page, orjson.dumps(body))
        if reply.kind == "text/html":
            await reply.close(whole=False)
            raise Failure("The model's server answered with a web page: is its base_url right?", "badRequest")
        return reply, decoder


async def _listen(reply: Reply, splitter: Splitter, decoder: Decoding, batch: list[ModelEvent]) -> Failure | None:
    """Add what one read brings; a failure comes behind what was said before it."""
    try:
        data = await reply.read()
        for name, payload in splitter.feed(data) if data else splitter.end():
            decoder.take(name, payload, batch)
            if decoder.done:
                return None
        if not data:
            decoder.end(reply.framed, batch)
    except Failure as failure:
        return failure
    except TooLong:
        return disconnected("The model's server sent an event without an end.")
    return None


async def _whole(reply: Reply, decoder: Decoding) -> list[ModelEvent]:
    """An answer of a server that does not stream."""
    pieces, batch = [], list[ModelEvent]()
    while piece := await reply.read():
        pieces.append(piece)
    try:
        body = orjson.loads(b"".join(pieces))
    except orjson.JSONDecodeError:
        raise disconnected("The model's server sent something that is no answer.") from None
    decoder.whole(body, batch)
    return batch
