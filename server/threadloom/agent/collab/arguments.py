"""What the model writes to work with agents."""

from __future__ import annotations

from typing import Literal

from threadloom.agent.collab.base import Scope
from threadloom.agent.sampling import Item
from threadloom_protocol.model import Snake, UInt
from threadloom_protocol.v2.values.genealogy import CallbackConfig, Coalesce, OnParentClose


class InputItem(Snake):
    """A part of an input: words, a picture, a file, a skill."""

    type: Literal["text", "image", "local_image", "skill", "mention"]
    text: str | None = None
    image_url: str | None = None
    path: str | None = None
    name: str | None = None

    def input(self) -> Item:
        """As clients write it."""
        match self.type:
            case "text":
                return {"type": "text", "text": self.text}
            case "image":
                return {"type": "image", "url": self.image_url}
            case "local_image":
                return {"type": "localImage", "path": self.path}
            case _:
                return {"type": self.type, "name": self.name, "path": self.path}


class Saying(Snake):
    """What an agent is told: one of the two."""

    message: str | None = None
    items: list[InputItem] | None = None

    def given(self) -> list[Item] | None:
        """The items, as clients write them."""
        return None if self.items is None else [it.input() for it in self.items]


class Window(Snake):
    """How reports are gathered."""

    window_ms: UInt
    max: UInt


class Callback(Snake):
    """Whether and how an agent reports. What is left out is as usual."""

    enabled: bool = True
    include_last_message: bool = True
    include_original_prompt: bool = False
    template: str | None = None
    coalesce: Window | None = None

    def config(self) -> CallbackConfig:
        """As threads keep it."""
        gathered = self.coalesce
        return CallbackConfig(
            enabled=self.enabled,
            include_last_message=self.include_last_message,
            include_original_prompt=self.include_original_prompt,
            template=self.template,
            coalesce=None if gathered is None else Coalesce(window_ms=gathered.window_ms, max=gathered.max),
        )


class SpawnAgent(Saying):
    """The arguments of `spawn_agent`."""

    agent_type: str | None = None
    agent_name: str | None = None
    working_directory: str | None = None
    model: str | None = None
    reasoning_effort: str | None = None
    thread_note: str | None = None
    callback: Callback | None = None
    on_parent_close: OnParentClose = "cancel"


class SendInput(Saying):
    """The arguments of `send_input`."""

    id: str
    interrupt: bool = False


class Wait(Snake):
    """The arguments of `wait`."""

    ids: list[str]
    timeout_ms: int | None = None


class Named(Snake):
    """The arguments of `resume_agent` and `close_agent`."""

    id: str


class ListAgents(Snake):
    """The arguments of `list_agents`."""

    agent_type: str | None = None
    expanded: bool = False


class ListActive(Snake):
    """The arguments of `list_active_agents`."""

    scope: Scope = "children"
    include_tree: bool = False
    include_closed: bool = False


class SetNote(Snake):
    """The arguments of `set_thread_note`."""

    id: str
    note: str | None = None


class ReadAgent(Snake):
    """The arguments of `read_agent`."""

    id: str
    turn_id: str | None = None
    offset: int = 0
    limit: int | None = None


class CreateSession(Snake):
    """The arguments of `create_session`."""

    session_type: str
    prompt: str


class WaitSession(Snake):
    """The arguments of `wait_session`."""

    session_id: str
    timeout_ms: int


class CancelSession(Snake):
    """The arguments of `cancel_session`."""

    session_id: str
