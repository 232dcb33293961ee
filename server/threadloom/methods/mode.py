"""Presets: the sets of permissions that a client may name."""

from __future__ import annotations

from threadloom.routes import Context, answers
from threadloom.threads.defaults import PROFILES
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import mode


@answers(mode.PERMISSION_PROFILES)
def list_profiles(ctx: Context, params: mode.PermissionProfileListParams) -> mode.PermissionProfileListResponse:
    """The built-in ones, from where a page ended."""
    first = _place(params.cursor)
    end = len(PROFILES) if params.limit is None else first + max(1, params.limit)
    return mode.PermissionProfileListResponse(
        data=[mode.PermissionProfileSummary(id=it, allowed=True) for it in list(PROFILES)[first:end]],
        next_cursor=str(end) if end < len(PROFILES) else None,
    )


def _place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit()) or int(cursor) > len(PROFILES):
        raise InvalidRequest(f"invalid cursor: {cursor}")
    return int(cursor)
