"""Content: what a person puts in, what a tool gives back."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from typing_extensions import TypeAliasType

from threadloom_protocol.model import Maybe, Snake, Value
from threadloom_protocol.v2.values.common import ByteRange


class InputTextDynamicToolCallOutputContentItem(Value):
    """Text."""

    type: Literal["inputText"] = "inputText"
    text: str


class InputImageDynamicToolCallOutputContentItem(Value):
    """A picture, as a data URL."""

    type: Literal["inputImage"] = "inputImage"
    image_url: str


class InputAudioDynamicToolCallOutputContentItem(Value):
    """Sound, as a data URL."""

    type: Literal["inputAudio"] = "inputAudio"
    audio_url: str


DynamicToolCallOutputContentItem = TypeAliasType(
    "DynamicToolCallOutputContentItem",
    Annotated[
        InputTextDynamicToolCallOutputContentItem
        | InputImageDynamicToolCallOutputContentItem
        | InputAudioDynamicToolCallOutputContentItem,
        Field(discriminator="type"),
    ],
)


class InputTextFunctionCallOutputContentItem(Value):
    """Text."""

    type: Literal["input_text"] = "input_text"
    text: str


ImageDetail = TypeAliasType("ImageDetail", Literal["auto", "low", "high", "original"])


class InputImageFunctionCallOutputContentItem(Snake):
    """A picture, by address or by file id."""

    type: Literal["input_image"] = "input_image"
    detail: ImageDetail | None = None
    image_url: Maybe[str] = None
    file_id: Maybe[str] = None


class InputAudioFunctionCallOutputContentItem(Snake):
    """Sound."""

    type: Literal["input_audio"] = "input_audio"
    audio_url: str


class EncryptedContentFunctionCallOutputContentItem(Snake):
    """Something that only the model can read."""

    type: Literal["encrypted_content"] = "encrypted_content"
    encrypted_content: str


FunctionCallOutputContentItem = TypeAliasType(
    "FunctionCallOutputContentItem",
    Annotated[
        InputTextFunctionCallOutputContentItem
        | InputImageFunctionCallOutputContentItem
        | InputAudioFunctionCallOutputContentItem
        | EncryptedContentFunctionCallOutputContentItem,
        Field(discriminator="type"),
    ],
)


FunctionCallOutputBody = TypeAliasType("FunctionCallOutputBody", str | list[FunctionCallOutputContentItem])


class TextElement(Value):
    """A part of a text that a client shows in its own way."""

    byte_range: ByteRange
    placeholder: str | None = None


class TextUserInput(Snake):
    """Text."""

    type: Literal["text"] = "text"
    text: str
    text_elements: list[TextElement] = Field(default_factory=list)


class ImageUserInput(Value):
    """A picture, by address (a data URL, mostly) or by file id."""

    type: Literal["image"] = "image"
    detail: ImageDetail | None = None
    url: Maybe[str] = None
    file_id: Maybe[str] = None

    @model_validator(mode="after")
    def _somewhere(self) -> ImageUserInput:
        if self.url is None and self.file_id is None:
            raise ValueError("an image needs url or fileId")
        return self


class LocalImageUserInput(Value):
    """A picture in a file."""

    type: Literal["localImage"] = "localImage"
    detail: ImageDetail | None = None
    path: str


class AudioUserInput(Value):
    """Sound, by address."""

    type: Literal["audio"] = "audio"
    url: str


class LocalAudioUserInput(Value):
    """Sound in a file."""

    type: Literal["localAudio"] = "localAudio"
    path: str


class SkillUserInput(Value):
    """A skill to use."""

    type: Literal["skill"] = "skill"
    path: str
    name: str


class MentionUserInput(Value):
    """Something that is mentioned by its path."""

    type: Literal["mention"] = "mention"
    path: str
    name: str


UserInput = TypeAliasType(
    "UserInput",
    Annotated[
        TextUserInput
        | ImageUserInput
        | LocalImageUserInput
        | AudioUserInput
        | LocalAudioUserInput
        | SkillUserInput
        | MentionUserInput,
        Field(discriminator="type"),
    ],
)
