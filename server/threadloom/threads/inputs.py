"""What a person puts in → what the model reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from pydantic import TypeAdapter

from threadloom.agent.history import user_item
from threadloom.ids import uuid7
from threadloom.threads.recall import INPUT, PARENT, SKILL
from threadloom_protocol.errors import InvalidParams, InvalidRequest
from threadloom_protocol.v2.turn import TurnToolOutput
from threadloom_protocol.v2.values.content import UserInput
from threadloom_protocol.v2.values.items import FunctionCallOutputThreadItem, UserMessageThreadItem

MAX_TEXT: Final = 1 << 20  # characters of text in one message; more belongs in a file
NO_NAME: Final = re.compile("[^a-zA-Z0-9_-]")  # what cannot stand in the name of a function
MAX_NAME: Final = 64  # characters in one
DETAIL: Final = "high"  # how closely a model looks at a picture, unless it is told otherwise

Content = Sequence[Any] | TurnToolOutput  # what a person says, or what a tool brings without having been called
Files = Mapping[str, str]  # path, as a person gave it → a picture as a data URL, or the text of a skill
NO_FILES: Final[Files] = MappingProxyType({})
WRITTEN: Final[TypeAdapter[list[UserInput]]] = TypeAdapter(list[UserInput])  # input as clients write it


def check(content: Content) -> None:
    """Refuse what no model would take."""
    if isinstance(content, TurnToolOutput):
        return
    total = sum(len(part.text) for part in content if part.type == "text")
    if total > MAX_TEXT:
        raise InvalidParams(
            f"Input exceeds the maximum length of {MAX_TEXT} characters.",
            {"input_error_code": "input_too_large", "max_chars": MAX_TEXT, "actual_chars": total},
        )
    for part in content:
        if part.type == "image":
            _refuse(part.url)
        if part.type in ("audio", "localAudio"):
            raise InvalidRequest("audio is not supported")


# What an item of the model's history cannot be without: no provider would take a request with it, ever after.
_OUTPUT: Final = {"call_id": str, "output": (str, list)}
_MEMBERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "message": {"role": str, "content": list},
    "function_call": {"call_id": str, "name": str, "arguments": str},
    "function_call_output": _OUTPUT,
    "custom_tool_call": {"call_id": str, "name": str, "input": str},
    "custom_tool_call_output": _OUTPUT,
    "reasoning": {"summary": list},
}


def unfit(item: Any) -> str | None:
    """Why something is no item of the model's history; none where it is one."""
    if type(item) is not dict or type(item.get("type")) is not str:
        return "it needs a `type`"
    if "@" in item:  # how the log marks what is no item
        return "it has a member `@`"
    for name, kinds in _MEMBERS.get(item["type"], {}).items():
        value = item.get(name)
        if not isinstance(value, kinds):
            return f"`{name}` is missing, or not what it should be"
        if isinstance(value, list) and not all(type(it) is dict and type(it.get("type")) is str for it in value):
            return f"a part of `{name}` has no `type`"
    return None


def refuse_remote(value: Any) -> None:
    """The same for pictures in items as the model sees them, wherever they are."""
    match value:
        case {"type": "input_image", "image_url": url}:
            _refuse(url)
        case dict():
            refuse_remote(list(value.values()))
        case list():
            for it in value:
                refuse_remote(it)


def _refuse(url: object) -> None:
    if isinstance(url, str) and url.lower().startswith(("http:", "https:")):
        raise InvalidRequest("remote image URLs are not supported: send the picture itself, as a data URL")


def taken(
    content: Content, files: Files, client_id: str | None, *, by_parent: bool = False
) -> tuple[UserMessageThreadItem | FunctionCallOutputThreadItem, list[dict[str, Any]]]:
    """Input as an item of the turn, and as the model reads it."""
    if isinstance(content, TurnToolOutput):
        item = FunctionCallOutputThreadItem(
            id=uuid7(), name=content.name, namespace=content.namespace, output=content.output
        )
        return item, delivered(content, item.id)
    read = message(content, files)
    if by_parent:
        read.insert(-1, {"@": PARENT})
    return UserMessageThreadItem(id=uuid7(), content=list(content), client_id=client_id), read


def delivered(output: TurnToolOutput, call_id: str) -> list[dict[str, Any]]:
    """What a tool brings by itself: providers take a tool's words only behind a call, so that it gets one."""
    name = NO_NAME.sub("_", "__".join(filter(None, (output.namespace, output.name))))[:MAX_NAME]
    told = output.model_dump(mode="json", by_alias=True, exclude_none=True)["output"]
    return [
        {"@": INPUT, "items": 2},
        {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"},
        {"type": "function_call_output", "call_id": call_id, "output": told},
    ]


def message(content: Sequence[Any], files: Files) -> list[dict[str, Any]]:
    """A user message in the model's history, behind the skills that it asks for."""
    skills = [user_item(_skill(part, files[part.path])) for part in content if part.type == "skill"]
    said = {"type": "message", "role": "user", "content": [_part(part, files) for part in content]}
    return [{"@": SKILL, "items": len(skills)}, *skills, said] if skills else [said]


def _skill(part: Any, text: str) -> str:
    return f'<skill name="{part.name}" file="{part.path}">\n{text}\n</skill>'


def _part(part: Any, files: Files) -> dict[str, Any]:
    match part.type:
        case "text":
            return {"type": "input_text", "text": part.text}
        case "image":
            where = {"file_id": part.file_id} if part.url is None else {"image_url": part.url}
            return {"type": "input_image", **where, "detail": part.detail or DETAIL}
        case "localImage":
            return {"type": "input_image", "image_url": files[part.path], "detail": part.detail or DETAIL}
        case kind:  # a skill or a mention
            return {"type": "input_text", "text": f"[{kind} {part.name}: {part.path}]"}
