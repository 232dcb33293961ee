"""The contract as loose files, laid out as Codex's own generators do it, for tools that are used to that."""

from __future__ import annotations

from typing import Any, Final

from threadloom_protocol.codegen import schema, typescript
from threadloom_protocol.codegen.shapes import REF, Schema
from threadloom_protocol.spec import Declaration, ServerRequest, Surface

# Codex has no type for the params of these; ours, without members, get no file either.
WITHOUT_PARAMS: Final = {"account/logout", "configRequirements/read"}

BUNDLE: Final = "codex_app_server_protocol.schemas.json"
FLAT_BUNDLE: Final = "codex_app_server_protocol.v2.schemas.json"

JSONRPC: Final[dict[str, Schema]] = {
    "JSONRPCRequest": {
        "description": "Wants an answer with the same id.",
        "type": "object",
        "properties": {"id": {"$ref": f"{REF}RequestId"}, "method": {"type": "string"}, "params": {}},
        "required": ["id", "method"],
    },
    "JSONRPCNotification": {
        "description": "Wants no answer.",
        "type": "object",
        "properties": {"method": {"type": "string"}, "params": {}},
        "required": ["method"],
    },
    "JSONRPCResponse": {
        "description": "Answers a request.",
        "type": "object",
        "properties": {"id": {"$ref": f"{REF}RequestId"}, "result": {}},
        "required": ["id", "result"],
    },
    "JSONRPCError": {
        "description": "Refuses a request.",
        "type": "object",
        "properties": {"error": {"$ref": f"{REF}JSONRPCErrorError"}, "id": {"$ref": f"{REF}RequestId"}},
        "required": ["error", "id"],
    },
    "JSONRPCErrorError": {
        "description": "Why a request was refused.",
        "type": "object",
        "properties": {"code": {"type": "integer"}, "data": {}, "message": {"type": "string"}},
        "required": ["code", "message"],
    },
    "JSONRPCMessage": {
        "description": "Anything that may be on the wire.",
        "anyOf": [{"$ref": f"{REF}JSONRPC{kind}"} for kind in ("Request", "Notification", "Response", "Error")],
    },
}


def json_files(surface: Surface, *, experimental: bool) -> dict[str, str]:
    """A self-contained schema per type of a message, and two bundles of them all."""
    document = schema.document(surface, experimental=experimental)
    types: dict[str, Schema] = document["definitions"] | JSONRPC
    places = _places(surface, types)
    files = {f"{folder}{name}.json": schema.standalone(types, name) for name, folder in places.items()}
    files[BUNDLE] = _nested(types, [name for name, folder in places.items() if folder == "v2/"])
    files[FLAT_BUNDLE] = {**document, "definitions": types}
    return {path: schema.render(files[path]) for path in sorted(files)}


def ts_files(surface: Surface, *, experimental: bool) -> dict[str, str]:
    """One module with every type, and an index: the names are Codex's, a file for each of them is not needed."""
    module = f"v{surface.version}"
    return {
        "index.ts": f'{typescript.HEADER}\n\nexport type * from "./{module}.js";\n',
        f"{module}.ts": typescript.render(schema.document(surface, experimental=experimental)),
    }


def _places(surface: Surface, types: dict[str, Schema]) -> dict[str, str]:
    """The folder of each type that has a file of its own."""
    places = dict.fromkeys(["RequestId", *(kind.__name__ for kind in schema.UNIONS), *JSONRPC], "")
    for it in schema.declarations(surface):
        names = schema.type_names(it)[1 if it.method in WITHOUT_PARAMS else 0 :]
        places |= {name: _folder(it) for name in names if name in types}
    return places


def _folder(it: Declaration) -> str:
    if it.method == "initialize":
        return "v1/"
    return "" if isinstance(it, ServerRequest) else "v2/"


def _nested(types: dict[str, Schema], names: list[str]) -> Schema:
    """All types, those of v2 in a namespace of their own."""
    inner = schema.select(types, names)
    moved = {name: _moved(types[name], inner) for name in types}
    outer = {name: moved[name] for name in types if name not in inner}
    return {
        "$schema": schema.DIALECT,
        "title": "ThreadloomProtocol",
        "type": "object",
        "definitions": outer | {"v2": {name: moved[name] for name in inner}},
    }


def _moved(part: Any, inner: dict[str, Schema]) -> Any:
    match part:
        case {"$ref": str(target)} if target.removeprefix(REF) in inner:
            return {"$ref": f"{REF}v2/{target.removeprefix(REF)}"}
        case dict():
            return {key: _moved(value, inner) for key, value in part.items()}
        case list():
            return [_moved(value, inner) for value in part]
        case _:
            return part
