"""A home, a project and a configuration over them, for tests to write to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from threadloom.config import Settings
from threadloom.config.auth import Keyring
from threadloom.config.load import Configuration
from threadloom.config.loaded import Loaded
from threadloom_protocol.v2.config import ConfigEdit, ConfigWriteResponse


@dataclass
class Desk:
    """Files to write and a configuration that reads them."""

    room: Path
    foreign: Path | None = None
    environ: dict[str, str] = field(default_factory=dict)
    strict: bool = False

    @property
    def home(self) -> Path:
        """Ours: beside Codex's files, or by itself."""
        return self.foreign / "threadloom" if self.foreign else self.room / "home"

    @property
    def file(self) -> Path:
        """The user's file."""
        return self.home / "config.toml"

    def write(self, text: str, path: Path | None = None) -> Path:
        """Write a configuration file: the user's, or another."""
        path = path or self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def project(self, text: str, *below: str) -> Path:
        """Write the file of a project, or of a folder in it."""
        (self.room / "repo" / ".git").mkdir(parents=True, exist_ok=True)
        folder = self.room.joinpath("repo", *below)
        self.write(text, folder / ".threadloom" / "config.toml")
        return folder

    def trust(self, folder: Path, level: str = "trusted") -> str:
        """The table that says whether a folder is trusted."""
        return f'\n[projects."{folder}"]\ntrust_level = "{level}"\n'

    def configuration(self, **flags: Any) -> Configuration:
        """A configuration with these flags; `__` stands for a dot."""
        overrides = {key.replace("__", "."): value for key, value in flags.items()}
        settings = Settings(self.home, overrides, foreign=self.foreign, strict=self.strict)
        return Configuration(settings, self.keyring(), self.environ)

    def keyring(self) -> Keyring:
        """The keys of the home."""
        return Keyring(self.home, self.environ)

    def load(self, cwd: Path | None = None, thread: Mapping[str, Any] | None = None, **flags: Any) -> Loaded:
        """What is in force."""
        return self.configuration(**flags).load(str(cwd) if cwd else None, thread)


def edit(key: str, value: Any, merge: Any = "replace") -> ConfigEdit:
    """One change."""
    return ConfigEdit(key_path=key, value=value, merge_strategy=merge)


async def change(desk: Desk, *edits: ConfigEdit, expected: str | None = None, **flags: Any) -> ConfigWriteResponse:
    """Write changes to the user's file."""
    return await desk.configuration(**flags).write(edits, expected=expected)
