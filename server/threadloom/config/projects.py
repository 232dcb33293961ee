"""The layers of a project: from the root of its repository down to where a thread works, if the user trusts it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from threadloom.config import FILE, trees
from threadloom.config.layers import Layer, Shelf
from threadloom_protocol.v2.values.layers import ProjectConfigLayerSource

FOLDER: Final = ".threadloom"

# What a repository may not decide, trusted or not: where prompts and keys go, what runs after a turn, whom to trust.
RESERVED: Final = (
    "chatgpt_base_url",
    "model_provider",
    "model_providers",
    "notify",
    "openai_base_url",
    "otel",
    "profile",
    "profiles",
    "projects",
)


def layers(cwd: str, user: Mapping[str, Any], home: Path, shelf: Shelf) -> Iterator[Layer]:
    """The layers for a directory, the nearest one last. `user` is what the user's own layers say."""
    folders = _down(cwd, user.get("project_root_markers", [".git"]))
    for at, folder in enumerate(folders):
        file = Path(folder, FOLDER, FILE) if os.path.exists(f"{folder}/{FOLDER}/{FILE}") else None
        if file is None or file.parent == home:
            continue
        layer = shelf.layer(file, ProjectConfigLayerSource(dot_codex_folder=str(file.parent)))
        if _trusted(folders[: at + 1], user):
            yield layer.without(RESERVED, "a project may not set these, only your own configuration")
        else:
            why = (
                f"{folder} is not trusted: set projects.{_quoted(folders[0])}.trust_level to trusted in your own {FILE}"
            )
            yield replace(layer, disabled=why, faults=())


def root(cwd: str, markers: Sequence[str]) -> str:
    """The nearest folder, from here up, that has one of the markers; the directory itself where none has."""
    folder = cwd
    while not any(os.path.exists(f"{folder}/{marker}") for marker in markers):
        above = os.path.dirname(folder)
        if above == folder:
            return cwd
        folder = above
    return folder


def _down(cwd: str, markers: Sequence[str]) -> list[str]:
    """The folders from the root of a project down to a directory."""
    top = root(cwd, markers)
    folders = [cwd]
    while folders[-1] != top:
        folders.append(os.path.dirname(folders[-1]))
    return folders[::-1]


def _trusted(folders: list[str], user: Mapping[str, Any]) -> bool:
    """The nearest folder that the user has spoken about decides for those below it."""
    known = {folder: entry for folder, entry in (user.get("projects") or {}).items() if "\0" not in folder}
    trust = {os.path.realpath(folder): entry for folder, entry in known.items()}
    for folder in reversed(folders):
        entry = trust.get(os.path.realpath(folder))
        if entry is not None:
            return bool(trees.get(entry, ("trust_level",)) == "trusted")
    return False


def _quoted(folder: str) -> str:
    return '"' + folder.replace("\\", "\\\\").replace('"', '\\"') + '"'
