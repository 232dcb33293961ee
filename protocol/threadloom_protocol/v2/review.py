"""Reviews of code, as a turn of a thread."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Params, Result, Value
from threadloom_protocol.spec import ClientRequest
from threadloom_protocol.v2.values.turns import Turn

# Where a review runs.
ReviewDelivery = TypeAliasType("ReviewDelivery", Literal["inline"])


class UncommittedChangesReviewTarget(Value):
    """Whatever is not committed yet."""

    type: Literal["uncommittedChanges"] = "uncommittedChanges"


class BaseBranchReviewTarget(Value):
    """All that a branch does not have."""

    type: Literal["baseBranch"] = "baseBranch"
    branch: str


class CommitReviewTarget(Value):
    """One commit."""

    type: Literal["commit"] = "commit"
    sha: str
    title: str | None = None


class CustomReviewTarget(Value):
    """What these words say."""

    type: Literal["custom"] = "custom"
    instructions: str


ReviewTarget = TypeAliasType(
    "ReviewTarget",
    Annotated[
        UncommittedChangesReviewTarget | BaseBranchReviewTarget | CommitReviewTarget | CustomReviewTarget,
        Field(discriminator="type"),
    ],
)


class ReviewStartParams(Params):
    """Have code reviewed, as a turn of this thread between `enteredReviewMode` and `exitedReviewMode`."""

    thread_id: str
    target: ReviewTarget
    delivery: ReviewDelivery | None = None


class ReviewStartResponse(Result):
    """The turn, and the thread it runs in."""

    turn: Turn
    review_thread_id: str


START = ClientRequest("review/start", ReviewStartParams, ReviewStartResponse)
