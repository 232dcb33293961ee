"""`threadloom app-server generate-ts` and `generate-json-schema`: the contract as files in a folder."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from threadloom_protocol.codegen import layout
from threadloom_protocol.v2 import V2


def generate_ts(arguments: Namespace) -> int:
    """The command `generate-ts`."""
    return _run(write_ts, arguments)


def generate_json_schema(arguments: Namespace) -> int:
    """The command `generate-json-schema`."""
    return _run(write_json_schema, arguments)


def write_ts(out: Path, *, experimental: bool) -> list[Path]:
    """Write the TypeScript types; without `experimental`, only what every client may use."""
    return _write(out, layout.ts_files(V2, experimental=experimental))


def write_json_schema(out: Path, *, experimental: bool) -> list[Path]:
    """Write the JSON Schema files; without `experimental`, only what every client may use."""
    return _write(out, layout.json_files(V2, experimental=experimental))


def _run(write: Callable[..., list[Path]], arguments: Namespace) -> int:
    try:
        write(Path(arguments.out), experimental=arguments.experimental)
    except OSError as fault:
        sys.stderr.write(f"threadloom: cannot write to {arguments.out}: {fault}\n")
        return 1
    return 0


def _write(out: Path, files: Mapping[str, str]) -> list[Path]:
    written = []
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return written
