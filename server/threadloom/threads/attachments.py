"""Files that come with a message: pictures and skills, read when the turn begins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from anyio import to_thread

from threadloom.agent.pictures import picture, place, read, reason
from threadloom.threads.inputs import Files
from threadloom_protocol.errors import InvalidRequest

MAX_SKILL: Final = 64 * 1024  # bytes: a longer one says what to read, and when
SKILL_FILE: Final = "SKILL.md"


async def attached(content: Sequence[Any], cwd: str) -> Files:
    """The files that a message names, by their paths. Raises `InvalidRequest` where one cannot be had."""
    wanted = {part.path: part.type for part in content if part.type in ("localImage", "skill")}
    if not wanted:
        return {}
    return await to_thread.run_sync(lambda: {path: _read(path, kind, cwd) for path, kind in wanted.items()})


def _read(path: str, kind: str, cwd: str) -> str:
    try:
        return (picture if kind == "localImage" else _skill)(place(path, cwd))
    except (OSError, ValueError) as fault:
        what = "image" if kind == "localImage" else "skill"
        raise InvalidRequest(f"the {what} {path} cannot be read: {reason(fault)}") from None


def _skill(path: Path) -> str:
    raw = read(path / SKILL_FILE if path.is_dir() else path, MAX_SKILL)
    cut = f"\n[longer than {MAX_SKILL} bytes: read the file for the rest]" if len(raw) > MAX_SKILL else ""
    return raw[:MAX_SKILL].decode(errors="ignore" if cut else "replace").strip() + cut
