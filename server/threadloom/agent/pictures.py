"""Pictures on this machine, as a model takes them."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Final

MAX_IMAGE: Final = 20 * 1024 * 1024  # bytes: providers take no more

_KINDS: Final = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def picture(path: Path) -> str:
    """A picture as a data URL. Raises `OSError` where it cannot be read, `ValueError` where it is none."""
    raw = read(path, MAX_IMAGE)
    if len(raw) > MAX_IMAGE:
        raise ValueError(f"it has more than {MAX_IMAGE} bytes")
    return f"data:{_kind(raw)};base64,{base64.b64encode(raw).decode()}"


def place(path: str, cwd: str) -> Path:
    """Where a file is that somebody names; what begins with `~/` is in the user's home."""
    return Path(os.path.normpath(os.path.join(cwd, os.path.expanduser(path) if path.startswith("~/") else path)))


def reason(fault: OSError | ValueError) -> str:
    """Why a file cannot be taken."""
    return (fault.strerror if isinstance(fault, OSError) else None) or str(fault)


def _kind(raw: bytes) -> str:
    for magic, kind in _KINDS:
        if raw.startswith(magic):
            return kind
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    raise ValueError("it is no PNG, JPEG, GIF or WebP")


def read(path: Path, most: int) -> bytes:
    """All of a file, or one byte more than what is taken of it."""
    if not path.is_file() and path.exists():  # a pipe would keep whoever reads it waiting
        raise ValueError("it is no file")
    with open(os.fspath(path), "rb") as file:
        return file.read(most + 1)
