"""What is generated from the declarations: fresh, exact about null and absence, valid in its examples."""

from __future__ import annotations

import enum
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft7Validator
from pydantic import Field, create_model
from typing_extensions import TypeAliasType

from threadloom_protocol import codegen
from threadloom_protocol.codegen import parity, reference, schema, typescript
from threadloom_protocol.codegen.__main__ import main
from threadloom_protocol.codegen.examples import Examples
from threadloom_protocol.model import EXPERIMENTAL, Event, Maybe, Params, Result, Value
from threadloom_protocol.spec import (
    ClientNotification,
    ClientRequest,
    Declaration,
    ServerNotification,
    ServerRequest,
    Stage,
    Surface,
)
from threadloom_protocol.v2 import V2

ROOT = Path(__file__).parents[2]


# A surface of a few methods: this module is its only room.


class Colour(enum.Enum):
    """What a cat looks like."""

    RED = "red"
    BLACK = "black"


class Cat(Value):
    """Purrs."""

    type: Literal["cat"] = "cat"
    colour: Colour = Colour.RED
    nickname: str | None = None
    title: Maybe[str]


class Dog(Value):
    """Barks */ loudly."""

    type: Literal["dog"] = "dog"
    tricks: list[str] = Field(default_factory=list, description="What it can do.")
    friends: dict[str, int | None] = Field(default_factory=dict)


class Collar(Value):
    """Only an experimental member has one."""

    size: Annotated[int, Field(ge=3)]


class Home(Value):
    """Only the server sends one."""

    address: str | None = None
    rooms: int = 1
    note: Maybe[str]
    garden: Annotated[Garden | None, EXPERIMENTAL] = None


class Garden(Value):
    """Comes after the one who speaks of it."""

    trees: int


class AdoptParams(Params):
    """Take one home.

    Once and for ever.
    """

    thread_id: str
    pet: Annotated[Cat | Dog, Field(discriminator="type")]
    position: tuple[int, int]
    collar: Annotated[Collar | None, EXPERIMENTAL] = None
    favourite: Cat | None = Field(default=None, description="The one | loved most.")


class AdoptResponse(Result):
    """Where it lives now."""

    pet: Annotated[Cat | Dog, Field(discriminator="type")]
    home: Home


class ListParams(Params):
    """Who is there."""

    limit: int | None = None


class ListResponse(Result):
    """All of them."""

    data: list[Cat]


class VetParams(Params):
    """May the vet have a look?"""

    thread_id: str
    reason: str | None = None


class VetResponse(Result):
    """Yes or no."""

    decision: Literal["accept", "decline"]


class Escaped(Event):
    """It is gone."""

    thread_id: str
    pet: Cat


ADOPT = ClientRequest("pet/adopt", AdoptParams, AdoptResponse)
LIST = ClientRequest("pet/list", ListParams, ListResponse, experimental=True, stage=Stage.PLANNED)
VET = ServerRequest("pet/vet", VetParams, VetResponse)
ESCAPED = ServerNotification("pet/escaped", Escaped)
READY = ClientNotification("ready")

PETS = Surface(2, [__name__])


@pytest.fixture(scope="module")
def pets() -> schema.Schema:
    return schema.document(PETS)


@pytest.fixture(scope="module")
def v2() -> schema.Schema:
    return schema.document(V2)


def test_the_checked_in_files_are_what_would_be_generated_now() -> None:
    command = [sys.executable, "-m", "threadloom_protocol.codegen", "--check", "--root", str(ROOT)]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (checked.stdout, checked.stderr) == ("", ""), "run python -m threadloom_protocol.codegen"
    assert checked.returncode == 0


def test_check_names_what_is_stale_and_writing_makes_it_fresh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> tuple[int, list[str]]:
        return main(["--root", str(tmp_path), *words]), capsys.readouterr().out.splitlines()

    paths = list(codegen.generate(V2))
    assert run("--check") == (1, [f"stale {path}" for path in paths])
    assert not any(tmp_path.iterdir())
    assert run() == (0, [f"wrote {path}" for path in paths])
    assert run("--check") == (0, [])
    (tmp_path / "schemas/v2.md").write_text("older")
    assert run("--check") == (1, ["stale schemas/v2.md"])


def test_a_method_of_codex_without_a_place_fails_the_check(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parity, "unplaced", lambda surface: ["thread/dance: neither declared nor refused"])
    assert main(["--root", str(ROOT), "--check"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "thread/dance: neither declared nor refused"


@pytest.mark.parametrize(
    ("name", "members", "required"),
    [
        # Sent by clients (and by the server): what has a default may be left out, a tag may not.
        ("Cat", {"type", "colour", "nickname", "title"}, ["type"]),
        # Sent by the server alone: it writes everything but a Maybe.
        ("Home", {"address", "rooms", "note", "garden"}, ["address", "rooms", "garden"]),
        ("VetParams", {"threadId", "reason"}, ["threadId", "reason"]),
        ("AdoptParams", {"threadId", "pet", "position", "collar", "favourite"}, ["threadId", "pet", "position"]),
        ("ListParams", {"limit"}, None),
    ],
)
def test_required_is_what_the_writer_always_writes(
    pets: schema.Schema, name: str, members: set[str], required: list[str] | None
) -> None:
    definition = pets["definitions"][name]
    assert set(definition["properties"]) == members
    assert definition.get("required") == required


def test_a_member_is_nullable_only_where_null_has_a_place(pets: schema.Schema) -> None:
    cat = pets["definitions"]["Cat"]["properties"]
    assert cat["title"] == {"type": "string"}
    assert cat["nickname"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


def test_a_type_comes_once_with_its_docstring_and_without_noise(pets: schema.Schema) -> None:
    types = "AdoptParams AdoptResponse Cat Collar Colour Dog Escaped Garden Home ListParams ListResponse"
    unions = "VetParams VetResponse ClientNotification ClientRequest RequestId ServerNotification ServerRequest"
    assert list(pets["definitions"]) == sorted(f"{types} {unions}".split())
    assert pets["definitions"]["Colour"] == {
        "description": "What a cat looks like.",
        "enum": ["red", "black"],
        "type": "string",
    }
    assert pets["definitions"]["AdoptParams"]["description"] == "Take one home.\n\nOnce and for ever."
    assert '"title": "' not in json.dumps(pets["definitions"])


def test_a_union_has_an_arm_per_method(pets: schema.Schema) -> None:
    adopt, _ = pets["definitions"]["ClientRequest"]["oneOf"]
    assert adopt == {
        "type": "object",
        "properties": {
            "id": {"$ref": "#/definitions/RequestId"},
            "method": {"const": "pet/adopt", "type": "string"},
            "params": {"$ref": "#/definitions/AdoptParams"},
        },
        "required": ["id", "method", "params"],
    }
    assert [_method(arm) for arm in pets["definitions"]["ServerNotification"]["oneOf"]] == ["pet/escaped"]
    assert pets["x-methods"]["pet/list"] == {
        "kind": "ClientRequest",
        "params": {"$ref": "#/definitions/ListParams"},
        "result": {"$ref": "#/definitions/ListResponse"},
        "experimental": True,
        "origin": "codex",
        "stage": "planned",
    }


def test_without_experimental_neither_methods_nor_members_nor_what_only_they_use_remain() -> None:
    stable = schema.document(PETS, experimental=False)
    assert set(stable["x-methods"]) == {"pet/adopt", "pet/vet", "pet/escaped", "ready"}
    assert [_method(arm) for arm in stable["definitions"]["ClientRequest"]["oneOf"]] == ["pet/adopt"]
    assert "collar" not in stable["definitions"]["AdoptParams"]["properties"]
    assert "garden" not in stable["definitions"]["Home"]["properties"]
    assert stable["definitions"]["Home"]["required"] == ["address", "rooms"]
    assert not {"Collar", "Garden", "ListParams", "ListResponse"} & set(stable["definitions"])


def test_two_types_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = create_model("Cat", __base__=Event, lives=(int, 9))
    monkeypatch.setattr(sys.modules[__name__], "OTHER", ServerNotification("pet/other", other), raising=False)
    with pytest.raises(ValueError, match="two types are called Cat"):
        schema.document(Surface(2, [__name__]))


def test_two_aliases_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = create_model("AskParams", __base__=Params, mood=(TypeAliasType("Mood", Literal["good", "bad"]), ...))
    told = create_model("Told", __base__=Event, mood=(TypeAliasType("Mood", Literal["bright", "dark"]), ...))
    monkeypatch.setattr(sys.modules[__name__], "ASK", ClientRequest("ask", asked, ListResponse), raising=False)
    monkeypatch.setattr(sys.modules[__name__], "TOLD", ServerNotification("told", told), raising=False)
    with pytest.raises(ValueError, match="two types are called Mood"):
        schema.document(Surface(2, [__name__]))


@pytest.mark.parametrize("experimental", [True, False])
def test_the_document_is_a_valid_schema_whose_references_all_lead_somewhere(experimental: bool) -> None:
    document = schema.document(V2, experimental=experimental)
    Draft7Validator.check_schema(document)
    assert set(schema.references(document)) <= set(document["definitions"])
    assert not [name for name in document["definitions"] if not re.fullmatch(r"[A-Z]\w+", name) or "__" in name]


def test_typescript_is_exact_about_null_and_absence(pets: schema.Schema) -> None:
    text = typescript.render(pets)
    for block in (
        '  type: "cat";\n  colour?: Colour;\n  nickname?: string | null;\n  title?: string;\n}',
        "/** Only the server sends one. */\nexport interface Home {",
        "  address: string | null;\n  rooms: number;\n  note?: string;\n",
        "  /** @experimental */\n  garden: Garden | null;\n}",
        '/** What a cat looks like. */\nexport type Colour = "red" | "black";',
        "/** Barks *\\/ loudly. */\nexport interface Dog {",
        "  /** What it can do. */\n  tricks?: string[];\n  friends?: Record<string, number | null>;",
        "/**\n * Take one home.\n *\n * Once and for ever.\n */\nexport interface AdoptParams {",
        "  pet: Cat | Dog;\n  position: [number, number];\n  /** @experimental */\n  collar?: Collar | null;",
        'export type ServerNotification = { method: "pet/escaped"; params: Escaped };',
        '  | { id: RequestId; method: "pet/list"; params?: ListParams };',
        '  "pet/adopt": { params: AdoptParams; result: AdoptResponse };',
        '  "pet/vet": { params: VetParams; result: VetResponse };',
        '  "pet/escaped": { params: Escaped };',
        '  decision: "accept" | "decline";',
    ):
        assert block in text


def test_the_reference_says_of_a_method_what_there_is_to_say(pets: schema.Schema) -> None:
    page = reference.render(PETS, pets)
    assert "### `pet/list`\n\n*request, client → server · planned · Codex's · experimental*\n\nWho is there." in page
    assert "| `favourite` | [Cat](#cat) \\| null | no | The one \\| loved most. |" in page
    assert "| `collar` | [Collar](#collar) \\| null | no | *Experimental.* |" in page
    assert '{"id": "req_1", "method": "pet/vet", "params": {"threadId": "' in page
    assert '{"id": "req_1", "result": {"decision": "accept"}}' in page
    assert '{"method": "ready"}' in page


@pytest.mark.parametrize("surface", [PETS, V2], ids=["pets", "v2"])
def test_every_link_of_the_reference_leads_to_one_heading(surface: Surface) -> None:
    page = reference.render(surface, schema.document(surface))
    anchors = [reference.anchor(heading) for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE)]
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= set(anchors)
    for it in schema.declarations(surface):
        assert f"### `{it.method}`\n" in page


@pytest.mark.parametrize("surface", [PETS, V2], ids=["pets", "v2"])
def test_every_example_fits_its_model_and_its_schema(surface: Surface) -> None:
    document = schema.document(surface)
    examples = Examples(document["definitions"])
    for model in _models(surface):
        name = model.__name__
        validator = Draft7Validator({"$ref": f"#/definitions/{name}", "definitions": document["definitions"]})
        value = examples.of(name)
        validator.validate(value)
        parsed = model.model_validate_json(json.dumps(value))
        validator.validate(json.loads(parsed.to_json()))


def test_every_message_shown_in_the_reference_is_json_of_the_protocol(v2: schema.Schema) -> None:
    page = reference.render(V2, v2)
    shown = [json.loads(block) for block in re.findall(r"```json\n(.+?)\n```", page, re.DOTALL)]
    assert {message["method"] for message in shown if "method" in message} == set(v2["x-methods"])


def _method(arm: schema.Schema) -> str:
    return str(arm["properties"]["method"]["const"])


def _models(surface: Surface) -> Iterator[Any]:
    for it in schema.declarations(surface):
        yield from _carried(it)


def _carried(it: Declaration) -> list[Any]:
    match it:
        case ClientRequest() | ServerRequest():
            return [it.params, it.result]
        case ServerNotification():
            return [it.params]
        case _:
            return []
