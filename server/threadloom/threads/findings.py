"""What a review comes to: the shape that the reviewer answers in, and the text that people read."""

from __future__ import annotations

from typing import Any, Final

import orjson
from pydantic import ValidationError

from threadloom_protocol.model import Snake


class LineRange(Snake):
    """Lines of a file, both included."""

    start: int
    end: int


class CodeLocation(Snake):
    """A place in the code."""

    absolute_file_path: str
    line_range: LineRange

    def __str__(self) -> str:
        return f"{self.absolute_file_path}:{self.line_range.start}-{self.line_range.end}"


class Finding(Snake):
    """A fault."""

    title: str
    body: str
    confidence_score: float
    priority: int
    code_location: CodeLocation

    def __str__(self) -> str:
        body = "\n".join(f"  {line}".rstrip() for line in self.body.strip().splitlines())
        return f"- {self.title} — {self.code_location}\n{body}"


class Findings(Snake):
    """All of a review."""

    findings: list[Finding]
    overall_correctness: str
    overall_explanation: str
    overall_confidence_score: float


def rendered(answer: str) -> str:
    """A review for people; an answer in another shape stands for itself."""
    try:
        found = Findings.model_validate(orjson.loads(answer))
    except (orjson.JSONDecodeError, ValidationError):
        return answer.strip() or "The reviewer has said nothing."
    parts = [found.overall_explanation.strip()]
    if found.findings:
        parts += ["Findings:", *map(str, found.findings)]
    return "\n\n".join(it for it in parts if it) or "The reviewer has found nothing."


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer"}
_SHARE: Final = {"type": "number", "minimum": 0, "maximum": 1}

SCHEMA: Final = _object(
    findings={
        "type": "array",
        "items": _object(
            title={**_TEXT, "description": "At most 80 characters; begins with [P0] to [P3], P0 the gravest."},
            body={**_TEXT, "description": "Why it is wrong, and when that shows: one paragraph."},
            confidence_score=_SHARE,
            priority={**_WHOLE, "description": "0 to 3, as in the title."},
            code_location=_object(
                absolute_file_path=_TEXT,
                line_range=_object(start=_WHOLE, end=_WHOLE),
            ),
        ),
    },
    overall_correctness={"type": "string", "enum": ["patch is correct", "patch is incorrect"]},
    overall_explanation={**_TEXT, "description": "Whether it can be taken as it is, in a sentence or two."},
    overall_confidence_score=_SHARE,
)
