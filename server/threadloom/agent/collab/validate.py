"""What the collaboration tools check before anything is made, and what they say where it does not fit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from threadloom.agent.sampling import Item
from threadloom.agent.templates.resolve import MAX_NOTE, Spawn

if TYPE_CHECKING:
    from threadloom.agent.models.base import ModelInfo

UPDATING: Final = "Models are being updated; try spawn_agent again in a moment."

# Milliseconds. Less than ten seconds makes a model ask in a circle; half an hour is more than a turn should rest.
WAIT_LEAST: Final = 10_000
WAIT_USUAL: Final = 300_000
WAIT_MOST: Final = 1_800_000


class Refused(ValueError):
    """The call does not fit; the text is for the model. `retryable`: the same call may fit a little later."""

    def __init__(self, text: str, *, retryable: bool = False) -> None:
        super().__init__(text)
        self.retryable = retryable


def content(message: str | None, items: Sequence[Item] | None) -> list[Item]:
    """What an agent is told: a message, or items."""
    if message is not None and items is not None:
        raise Refused("Give either `message` or `items`, not both.")
    if message is None and items is None:
        raise Refused("Give one of `message` and `items`.")
    if message is not None and not message.strip():
        raise Refused("`message` must not be empty.")
    if items is not None and not items:
        raise Refused("`items` must not be empty.")
    return [{"type": "text", "text": message}] if message is not None else list(items or ())


def settled(spawn: Spawn, models: Sequence[ModelInfo] | None) -> Spawn:
    """The settings of a new agent, if its model can have them. Raises `Refused`.

    `models` are those of its provider, none while they are being listed. What the parent runs on is not put to the
    test; an effort that only the parent's model has becomes the usual one of the new model.
    """
    if spawn.inherits("model", "model_provider", "reasoning_effort"):
        return spawn
    if models is None:
        raise Refused(UPDATING, retryable=True)
    info = next((it for it in models if it.id == spawn.model), None)
    if info is None and spawn.inherits("model", "model_provider"):
        return spawn  # not listed, and yet the parent runs on it: nobody knows what efforts it has
    if info is None:
        raise Refused(f"Unknown model `{spawn.model}`. Available models: {_listed(it.id for it in models)}.")
    if spawn.reasoning_effort is None or spawn.reasoning_effort in info.efforts:
        return spawn
    if spawn.inherits("reasoning_effort"):
        return replace(spawn, reasoning_effort=info.default_effort if info.efforts else None)
    raise Refused(
        f"Model `{info.id}` does not support reasoning_effort `{spawn.reasoning_effort}`. "
        f"Supported values: {_listed(info.efforts)}."
    )


def waited_for(ids: Sequence[str]) -> list[str]:
    """Whom to wait for, each once, in the order they were named."""
    if not ids:
        raise Refused("`ids` must not be empty.")
    return list(dict.fromkeys(ids))


def wait_timeout(asked: int | None) -> int:
    """How long to wait, in milliseconds."""
    return WAIT_USUAL if asked is None else min(max(asked, WAIT_LEAST), WAIT_MOST)


def note(text: str) -> str | None:
    """A note as it is kept: trimmed, and none where it is blank."""
    kept = text.strip()
    if len(kept) > MAX_NOTE:
        raise Refused(f"note must have at most {MAX_NOTE} characters, not {len(kept)}")
    return kept or None


def directory(asked: str | None, cwd: str) -> str | None:
    """Where an agent is to work, if that is elsewhere: then the user is asked. None: where its parent works.

    Links are followed first: what the user grants is where the agent goes.
    """
    if asked is None:
        return None
    if not asked.strip() or "\0" in asked:
        raise Refused("`working_directory` must be a directory.")
    where = os.path.realpath(os.path.join(cwd, asked))
    if not os.path.isdir(where):
        raise Refused(f"`working_directory` must be a directory: there is none at {where}.")
    return None if where == os.path.realpath(cwd) else where


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
