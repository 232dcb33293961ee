"""What the configuration says about the turns of a thread: what the model is told, and how long things may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from threadloom.threads.context.documents import Places
from threadloom.threads.context.environment import shell
from threadloom_protocol.v2.settings import ThreadSettings

PATIENCE: Final = 24 * 3600.0  # seconds that a question waits for its answer, unless something else is configured
FULL: Final = 0.9  # of the window: the answer and the summary need some room, too

BASE: Final = """\
You are a coding agent. You work for a person, in a directory on their machine, through the tools you are given.

- Find out before you act: read the files that matter, and believe what you see over what you remember.
- Do what was asked, all of it, and nothing beside it. Keep to the style of what is already there.
- Check your work: run what can be run, and say what you could not check.
- Where something is unclear and a wrong guess would be costly, ask; otherwise decide, and say what you assumed.
- Never claim to have done what you have not done. Where something fails, say so, with the reason.
- Take care with what cannot be undone, and with secrets: do not show them, and do not send them anywhere.

Between steps, say in a line what you do next. In the end, say briefly what has changed and what is left to do."""

SUMMARIZE: Final = """\
The conversation has become too long to go on with in full. Write down what is needed to go on without it: whoever \
continues will see what the person wrote last, and this summary, but nothing else of what is above.

Say, as briefly as is safe:
- what the person wants, with every wish and limit that still holds;
- what has been done, found out and decided, and why;
- which files, commands, names and values matter, exactly as they are written;
- what is under way, and what is to be done next.

Answer with the summary alone."""


@dataclass(frozen=True, slots=True)
class Rules:
    """For one thread, as its settings are now."""

    places: Places = field(default_factory=Places)
    base_instructions: str | None = BASE  # for threads that were not given any
    developer_instructions: str | None = None  # for threads that were not given any
    shell: str = field(default_factory=shell)
    context_window: int | None = None  # of the model, in tokens
    compact_limit: int | None = None  # tokens after which a history is condensed, if that is less than the window
    compact_prompt: str = SUMMARIZE
    verbosity: str | None = None  # of what the model says: low, medium or high
    output_tokens: int | None = None  # of a command that the model gets to read at most
    review_model: str | None = None  # of the thread's provider, for reviews
    patience: float = PATIENCE

    @property
    def limit(self) -> int | None:
        """Tokens after which a history is condensed; none where nobody knows how many there may be."""
        most = None if self.context_window is None else int(self.context_window * FULL)
        limits = [it for it in (self.compact_limit, most) if it is not None]
        return min(limits, default=None)


Ruling = Callable[[ThreadSettings, Mapping[str, Any]], Rules]  # of a thread, with configuration of its own


def standard(settings: ThreadSettings, own: Mapping[str, Any]) -> Rules:
    """Where nothing is configured."""
    return Rules()
