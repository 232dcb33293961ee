"""Requests to a provider through the `openai` package, which is imported with the first of them."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

import anyio

from threadloom import __version__
from threadloom.agent.models.failure import Failure, disconnected, impossible, refused, unreachable
from threadloom.agent.models.provider import Provider
from threadloom.agent.models.retry import retry_after

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

    from threadloom.agent.models.transport import Asked, Body, Origin, Transport

CONNECT: Final = 10.0  # seconds

# All that is sent beside what the provider asks for. The SDK would add what it finds in the environment (keys of
# another provider, organisations, headers), and that is nobody's business here.
_PLAIN: Final = frozenset({"host", "accept", "accept-encoding", "connection", "content-type", "content-length"})


class Reply:
    """An answer under way."""

    def __init__(self, response: httpx2.Response) -> None:
        import httpx2

        self._late, self._broken = httpx2.TimeoutException, httpx2.HTTPError  # looked up once, not for every piece
        self.kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        # Whether a body that was cut short shows: one that ends with its connection looks whole.
        self.framed = "content-length" in response.headers or "transfer-encoding" in response.headers
        self._response = response
        self._pieces: AsyncGenerator[bytes, None] = response.aiter_bytes()
        self._body: Body | None = response.extensions.get("body")
        # Ours can be read as it is, unless it is packed; one that came through a proxy is the SDK's.
        self._plain = self._body is not None and "content-encoding" not in response.headers

    async def read(self) -> bytes:
        """What one read brings; nothing at the end. Raises `Failure`."""
        try:
            if self._plain and self._body is not None:
                return await self._body.read()
            return await anext(self._pieces, b"")
        except self._late:
            failure = disconnected("The model has been silent for too long.")
        except self._broken as error:
            failure = disconnected(f"The connection to the model broke: {error}")
        raise failure

    async def close(self, *, whole: bool) -> None:
        """Let it go: at once where it is not whole, else the connection is kept."""
        if whole and self._body is not None:
            self._body.said_all = True
        with anyio.CancelScope(shield=True):
            await self._pieces.aclose()
            await self._response.aclose()


class Mould(NamedTuple):
    """What the SDK makes of a request to a page: the next one differs in its body alone, and is made at a tenth."""

    url: httpx2.URL
    headers: list[tuple[str, str]]
    extensions: dict[str, Any]
    head: bytes  # all of it up to the length of the body
    origin: Origin

    @classmethod
    def of(cls, request: httpx2.Request) -> Mould:
        """Of a request that is about to be sent."""
        import httpx2

        from threadloom.agent.models.transport import head_of, origin_of

        headers = [it for it in request.headers.multi_items() if it[0] != "content-length"]
        head = head_of(request.method, request.url, httpx2.Headers(headers)).removesuffix(b"\r\n")
        extensions = {**request.extensions, _TRIMMED: True}
        return cls(request.url, headers, extensions, head + b"Content-Length: ", origin_of(request.url))

    def request(self, body: bytes) -> httpx2.Request:
        """The next one, for the SDK's own way to the network."""
        import httpx2

        return httpx2.Request("POST", self.url, headers=self.headers, content=body, extensions=self.extensions)

    def asked(self, body: bytes) -> Asked:
        """The same for ours."""
        from threadloom.agent.models.transport import Asked

        data = b"%b%d\r\n\r\n%b" % (self.head, len(body), body)
        return Asked("POST", self.origin, data, self.extensions.get("timeout", {}))


class Client:
    """One for each provider: connections are kept."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._sdk: AsyncOpenAI | None = None
        self._transport: Transport | None = None  # none of ours where there is a proxy
        self._moulds: dict[str, Mould] = {}  # by the paths of their pages
        self._making = anyio.Lock()
        self._place = _place(provider.base_url)

    async def warm(self) -> None:
        """Import the SDK, off the loop: it takes most of a second. Raises `Failure`."""
        async with self._making:
            if self._sdk is None:
                self._sdk, self._transport = await anyio.to_thread.run_sync(
                    _make, self._provider, self._keep, abandon_on_cancel=True
                )

    def _keep(self, request: httpx2.Request) -> None:
        """Others to its page may be made before it is answered."""
        if request.method == "POST":
            self._moulds[request.url.path] = Mould.of(request)

    async def post(self, page: str, body: bytes) -> Reply:
        """Ask; the answer as soon as it begins. Raises `Failure`."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", "Accept-Encoding": "identity"}
        return Reply(await self._send(page, body, headers, self._provider.idle))

    async def get(self, page: str, seconds: float) -> bytes:
        """A page. Raises `Failure`."""
        reply = Reply(await self._send(page, None, {"Accept": "application/json"}, seconds))
        pieces = []
        try:
            while piece := await reply.read():
                pieces.append(piece)
        finally:
            await reply.close(whole=False)
        return b"".join(pieces)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._sdk is not None:
            await self._sdk.close()

    async def _send(self, page: str, body: bytes | None, headers: Mapping[str, str], seconds: float) -> httpx2.Response:
        if self._sdk is None:
            await self.warm()
        import httpx2
        from openai import OpenAIError

        sdk = cast("AsyncOpenAI", self._sdk)
        try:
            if body is None:
                return cast("httpx2.Response", await sdk.get(page, **self._options(headers, seconds)))
            mould = next((it for path, it in self._moulds.items() if path.endswith(page)), None)
            if mould is not None:
                return await _again(sdk, self._transport, mould, body)
            return cast("httpx2.Response", await sdk.post(page, content=body, **self._options(headers, seconds)))
        except (OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            failure = self._failure(error, seconds)
        raise failure  # out here, so that it does not drag along the request and what is in its headers

    def _options(self, headers: Mapping[str, str], seconds: float) -> dict[str, Any]:
        import httpx2
        from openai import AsyncStream, Omit

        key = self._provider.api_key
        auth: dict[str, str | Omit] = {"Authorization": f"Bearer {key}" if key else Omit()}
        options = {
            "headers": {**auth, **headers, **self._provider.http_headers},
            "timeout": httpx2.Timeout(seconds, connect=CONNECT),
        }
        return {"cast_to": httpx2.Response, "stream": True, "stream_cls": AsyncStream[Any], "options": options}

    def _failure(self, error: Exception, seconds: float) -> Failure:
        import httpx2
        from openai import APIStatusError

        if isinstance(error, APIStatusError):
            return refused(error.status_code, error.body, retry_after(error.response.headers, time.time))
        match cause := error.__cause__ or error:
            case httpx2.ConnectTimeout():
                return unreachable(self._place, f"no connection in {CONNECT:g} s")
            case httpx2.TimeoutException():
                return unreachable(self._place, f"no answer in {seconds:g} s")
            case httpx2.LocalProtocolError() | httpx2.UnsupportedProtocol():
                return impossible(self._place, str(cause))
            case httpx2.RequestError():
                return unreachable(self._place, str(cause))
        return impossible(self._place, str(cause))


async def _again(sdk: AsyncOpenAI, transport: Transport | None, mould: Mould, body: bytes) -> httpx2.Response:
    """A request like one before. Raises as the SDK does, or what its connections do."""
    response: httpx2.Response
    if transport is None:
        response = await sdk._client.send(mould.request(body), stream=True)
    else:
        response = await transport.ask(mould.asked(body))
    if not response.is_success:
        response.request = mould.request(body)
        await response.aread()
        raise sdk._make_status_error_from_response(response)
    return response


Keep = Callable[["httpx2.Request"], None]  # is shown what the SDK has made, as it will be sent


def _make(provider: Provider, keep: Keep) -> tuple[AsyncOpenAI, Transport | None]:
    import httpx2
    from openai import AsyncOpenAI

    try:
        client, transport = _http(provider, keep)
        sdk = AsyncOpenAI(
            # Not None, for that would be looked up in the environment.
            api_key=provider.api_key or "",
            admin_api_key="",
            organization="",
            project="",
            webhook_secret="",
            base_url=provider.base_url,
            default_query=provider.query_params,
            max_retries=0,  # ours are told to clients
            http_client=client,
        )
    except (httpx2.InvalidURL, ValueError, OSError) as error:  # no URL, no proxy, no certificates
        failure = impossible(_place(provider.base_url), str(error))
    else:
        return sdk, transport
    raise failure


def _http(provider: Provider, keep: Keep) -> tuple[httpx2.AsyncClient, Transport | None]:
    import httpx2

    from threadloom.agent.models.transport import Transport

    wanted = {*_PLAIN, *(name.lower() for name in provider.http_headers)}
    wanted |= {"authorization"} if provider.api_key or "@" in urlsplit(provider.base_url).netloc else set()
    ours = [] if "user-agent" in wanted else [_USER_AGENT]

    async def trim(request: httpx2.Request) -> None:
        if _TRIMMED in request.extensions:
            return
        kept = [(name, value) for name, value in request.headers.multi_items() if name.lower() in wanted]
        request.headers = httpx2.Headers([*kept, *ours])
        keep(request)

    hooks: Any = {"request": [trim]}
    if _proxied(provider.base_url):
        return httpx2.AsyncClient(event_hooks=hooks, follow_redirects=False), None
    context = httpx2.create_ssl_context() if urlsplit(provider.base_url).scheme == "https" else None
    transport = Transport(context)
    return httpx2.AsyncClient(transport=transport, event_hooks=hooks, trust_env=False), transport


_TRIMMED: Final = "trimmed"  # the mark of a request that has only what it needs
_USER_AGENT: Final = ("user-agent", f"threadloom/{__version__}")


def _proxied(url: str) -> bool:
    """Whether the environment names a proxy for it; nobody means this machine seen from there."""
    from urllib.request import getproxies, proxy_bypass

    place = urlsplit(url)
    if place.hostname in ("127.0.0.1", "::1", "localhost"):
        return False
    proxies = getproxies()
    return bool(proxies.get(place.scheme) or proxies.get("all")) and not proxy_bypass(place.hostname or "")


def _place(url: str) -> str:
    """A URL as people may see it: no login, no query."""
    try:
        place = urlsplit(url)
    except ValueError:
        return "its base_url"
    return f"{place.scheme}://{place.netloc.rpartition('@')[2]}{place.path}"
