"""Models: what this server can run."""

from __future__ import annotations

from functools import lru_cache

from threadloom.agent.models.base import ModelInfo
from threadloom.digits import number
from threadloom.routes import Context, answers
from threadloom_protocol.errors import InvalidRequest
from threadloom_protocol.v2 import model


@answers(model.LIST)
async def list_models(ctx: Context, params: model.ModelListParams) -> model.ModelListResponse:
    """Every model, the default one first."""
    return _page(await ctx.models.listed(), params.cursor, params.limit)


@lru_cache(maxsize=4)
def _page(listed: tuple[ModelInfo, ...], cursor: str | None, limit: int | None) -> model.ModelListResponse:
    first = _place(cursor, len(listed))
    end = len(listed) if limit is None else first + max(1, limit)
    return model.ModelListResponse(
        data=[_wire(info, is_default=info is listed[0]) for info in listed[first:end]],
        next_cursor=str(end) if end < len(listed) else None,
    )


def _place(cursor: str | None, total: int) -> int:
    if cursor is None:
        return 0
    place = number(cursor)
    if place is None or place > total:
        raise InvalidRequest(f"invalid cursor: {cursor}")
    return place


def _wire(info: ModelInfo, *, is_default: bool) -> model.Model:
    return model.Model(
        id=info.id,
        model=info.id,
        display_name=info.name,
        description=info.description,
        hidden=False,
        is_default=is_default,
        default_reasoning_effort=info.default_effort,
        supported_reasoning_efforts=[
            model.ReasoningEffortOption(reasoning_effort=effort, description=f"{effort} effort")
            for effort in info.efforts
        ],
        input_modalities=[*info.modalities],
    )
