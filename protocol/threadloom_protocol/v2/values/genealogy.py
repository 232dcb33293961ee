"""Where a thread comes from and what hangs on it: spawn, reports, queue, saved names. This product's own."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypeAliasType

from threadloom_protocol.model import UInt, Value
from threadloom_protocol.v2.values.common import ReasoningEffort

# What becomes of a child when its parent closes: it ends too, or it is set free as a tree of its own.
OnParentClose = TypeAliasType("OnParentClose", Literal["cancel", "abandon"])

# How the turn of a child ended, as its report says it.
ReportStatus = TypeAliasType("ReportStatus", Literal["completed", "failed", "interrupted", "cancelled", "lost"])

QueueKind = TypeAliasType("QueueKind", Literal["prompt", "report"])

QueuePause = TypeAliasType("QueuePause", Literal["interrupt", "turnFailed", "user"])

SpawnKind = TypeAliasType("SpawnKind", Literal["agent", "subSession", "review"])


class Coalesce(Value):
    """Gathers reports: those that come within `windowMs` of the first become one, up to `max` of them."""

    window_ms: UInt
    max: UInt


class CallbackConfig(Value):
    """Whether and how a child reports to its parent. `template` is Handlebars; null means the built-in one."""

    enabled: bool = True
    include_last_message: bool = True
    include_original_prompt: bool = False
    template: str | None = None
    coalesce: Coalesce | None = None


class SpawnPoint(Value):
    """The place in the parent at which a child was born."""

    turn_id: str
    item_index: UInt


class SpawnConfig(Value):
    """What a child was spawned with. The rights in it hold for good: a resume does not widen them."""

    kind: SpawnKind
    agent_type: str | None
    agent_name: str | None
    model: str | None
    reasoning_effort: ReasoningEffort | None
    working_directory: str
    read_only: bool
    allow_list: list[str] | None
    deny_list: list[str]
    on_parent_close: OnParentClose
    callback_config: CallbackConfig


class SavedPoint(Value):
    """A name under which this thread was saved, and how far it had come by then."""

    name: str
    seq: UInt
    saved_at: int


class QueueState(Value):
    """How much waits for a thread, and what holds it back: null while it runs by itself."""

    length: UInt
    paused: QueuePause | None


class ChildReport(Value):
    """Marks what a child said to its parent when a turn of the child ended."""

    child_thread_id: str
    child_turn_id: str
    status: ReportStatus
