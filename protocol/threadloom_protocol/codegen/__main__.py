"""`python -m threadloom_protocol.codegen`: write the generated files, or with `--check` say which are stale."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from threadloom_protocol.codegen import generate, parity
from threadloom_protocol.v2 import V2


def main(words: Sequence[str] | None = None) -> int:
    """The exit code: 1 when `--check` finds a stale file, or a method of Codex has no place in the table of parity."""
    parser = argparse.ArgumentParser(prog="python -m threadloom_protocol.codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; name the files that are stale")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the checkout (default: here)")
    arguments = parser.parse_args(words)
    stale = {path: text for path, text in generate(V2).items() if _text(arguments.root / path) != text}
    lines = [f"{'stale' if arguments.check else 'wrote'} {path}" for path in stale]
    unplaced = parity.unplaced(V2)
    sys.stdout.writelines(f"{line}\n" for line in [*lines, *unplaced])
    if not arguments.check:
        for path, text in stale.items():
            _write(arguments.root / path, text)
    return 1 if unplaced or (stale and arguments.check) else 0


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
