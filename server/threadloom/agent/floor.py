"""The floor: where a tool acts, and what somebody has to decide there before it goes on."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from threadloom.agent.sampling import Item, ToolCall
from threadloom.events import Aside, Emission

if TYPE_CHECKING:
    from threadloom_protocol.model import Params, Result
    from threadloom_protocol.spec import ServerRequest
    from threadloom_protocol.v2.values.guardian import GuardianApprovalReviewAction
    from threadloom_protocol.v2.values.status import ThreadActiveFlag


class Action(NamedTuple):
    """What a tool wants to do, for a model that decides in a person's place."""

    shown: GuardianApprovalReviewAction  # to clients
    told: Item  # to that model


class Question(NamedTuple):
    """What somebody has to decide before a tool goes on."""

    request: ServerRequest[Any, Any]
    params: Params
    started: Emission | None  # the item that it is about, if any: it is stored together with the question
    refusal: Result  # what counts where nobody decides in time
    flag: ThreadActiveFlag = "waitingOnApproval"
    action: Action | None = None  # where a model may decide


class Floor(Protocol):
    """Where a tool acts: what it tells is stored and shown at once, and what it asks outlives the process."""

    def emit(self, *batch: Emission | Aside) -> None:
        """Store and show."""
        ...

    def item_id(self, call: ToolCall) -> str:
        """The id of the item for a call: a new one, or the known one of a call that is taken up again."""
        ...

    async def ask(self, call: ToolCall, question: Question) -> Any:
        """The answer, as the result that the request declares. A call that is taken up again is not asked again."""
        ...

    def item_count(self) -> int:
        """How many items the turn has by now."""
        ...

    def asked(self, call: ToolCall) -> bool:
        """Whether somebody was asked about a call in an earlier life of the server: their answer counts, no other."""
        ...

    def allows(self, keys: Sequence[str]) -> bool:
        """Whether all of this was accepted for the rest of the thread."""
        ...

    def allow(self, keys: Sequence[str]) -> None:
        """Remember that this was accepted for the rest of the thread."""
        ...

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *args: Any) -> None:
        """Let something run on that may outlive the turn."""
        ...

    def stop(self) -> None:
        """End the turn, as if interrupted, once the tool has told how it ended."""
        ...
