"""An editor that speaks the Agent Client Protocol, on our server: `acpx` → `codex-acp` → our executable."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

import anyio
import pytest
from tests.support.processes import environment

MODULES = Path(__file__).parent / "node_modules"
ACPX = MODULES / "acpx" / "dist" / "cli.js"
CODEX_ACP = MODULES / "@agentclientprotocol" / "codex-acp" / "dist" / "index.js"

SECONDS = 120.0  # for one prompt; it takes three


class Editor:
    """The editor, in a home and a folder of its own."""

    def __init__(self, room: Path, executable: Path) -> None:
        if not (ACPX.exists() and CODEX_ACP.exists()):
            pytest.fail("acpx and codex-acp are not installed in tests/clients: `make test` does that")
        self.work = room / "work"
        self.work.mkdir()
        self._environment = environment(room) | {"CODEX_PATH": str(executable)}

    async def run(self, *words: str) -> tuple[int, str, str]:
        """Run it once: exit code, what it printed, what it complained about."""
        agent = f"node {quote(str(CODEX_ACP))}"
        command = ["node", str(ACPX), "--agent", agent, *words]
        with anyio.fail_after(SECONDS):
            done = await anyio.run_process(command, cwd=self.work, env=self._environment, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()
