"""Approvals given or refused by a reviewing model."""

from __future__ import annotations

from threadloom_protocol.model import Recorded
from threadloom_protocol.spec import ServerNotification
from threadloom_protocol.v2.values.guardian import (
    AutoReviewDecisionSource,
    GuardianApprovalReview,
    GuardianApprovalReviewAction,
)


class ItemGuardianApprovalReviewStartedNotification(Recorded):
    """A model began to judge whether something may be done."""

    thread_id: str
    turn_id: str
    started_at_ms: int
    review_id: str
    target_item_id: str | None = None
    review: GuardianApprovalReview
    action: GuardianApprovalReviewAction


class ItemGuardianApprovalReviewCompletedNotification(Recorded):
    """The judgement is there."""

    thread_id: str
    turn_id: str
    started_at_ms: int
    completed_at_ms: int
    review_id: str
    target_item_id: str | None = None
    decision_source: AutoReviewDecisionSource
    review: GuardianApprovalReview
    action: GuardianApprovalReviewAction


class GuardianWarningNotification(Recorded):
    """Something about reviews that a person should know."""

    thread_id: str
    message: str


STARTED = ServerNotification("item/autoApprovalReview/started", ItemGuardianApprovalReviewStartedNotification)
COMPLETED = ServerNotification("item/autoApprovalReview/completed", ItemGuardianApprovalReviewCompletedNotification)
WARNING = ServerNotification("guardianWarning", GuardianWarningNotification)
