"""Values in tables in tables: named by a path, merged, and taken apart again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

Path = tuple[str, ...]
Tree = dict[str, Any]

MISSING: Final = object()
DEEPEST: Final = 64  # tables in tables, and lists: nobody needs so many, and each is a step down for all who look

_SEGMENT: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'|([^."\'][^.]*)')


def path(text: str) -> Path:
    """The segments of a dotted path; a segment in quotes may hold dots. Raises `ValueError`."""
    if not text.strip():
        raise ValueError("keyPath must not be empty")
    found: list[str] = []
    at = 0
    while True:
        match = _SEGMENT.match(text, at)
        if match is None or not match[0].strip():
            quoted = text[at : at + 1] in ("'", '"') and match is None
            raise ValueError(f"keyPath {'has a quote that is not closed' if quoted else 'segments must not be empty'}")
        found.append(_unquoted(match))
        if len(found) > DEEPEST:
            raise ValueError(f"keyPath has more than {DEEPEST} segments")
        at = match.end()
        if at == len(text):
            return tuple(found)
        if text[at] != ".":
            raise ValueError("keyPath has something after a closing quote")
        at += 1


def _unquoted(match: re.Match[str]) -> str:
    basic, literal, bare = match.groups()
    if literal is not None:
        return str(literal)
    if basic is None:
        return str(bare).strip()
    import tomllib

    try:
        return str(tomllib.loads(f'key = "{basic}"')["key"])
    except tomllib.TOMLDecodeError:
        raise ValueError("keyPath has a quoted segment that is not a TOML string") from None


def get(tree: Any, steps: Sequence[str | int], default: Any = MISSING) -> Any:
    """What is at the end of a path, or something else where there is nothing."""
    for step in steps:
        there = range(len(tree)) if isinstance(tree, list) else tree if isinstance(tree, Mapping) else ()
        if step not in there:
            return default
        tree = tree[step]
    return tree


def put(tree: Tree, steps: Path, value: Any) -> None:
    """Set what is at the end of a path; whatever is in the way gives way."""
    for step in steps[:-1]:
        if not isinstance(tree.get(step), dict):
            tree[step] = {}
        tree = tree[step]
    tree[steps[-1]] = value


def drop(tree: Tree, steps: Path) -> None:
    """Take out what is at the end of a path, if it is there."""
    parent = get(tree, steps[:-1])
    if isinstance(parent, dict):
        parent.pop(steps[-1], None)


def merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> Tree:
    """Both; where they disagree, the second one. Tables are merged, anything else is replaced."""
    merged = dict(low)
    for key, value in high.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def nested(flat: Mapping[str, Any]) -> Tree:
    """Dotted keys as tables in tables; what is null is left out. Raises `ValueError`."""
    tree: Tree = {}
    for key, value in flat.items():
        if is_deep(value):
            raise ValueError(f"`{key}` is nested too deeply")
        if value is not None:
            put(tree, path(key), value)
    return tree


def copy(value: Any) -> Any:
    """The same in tables and lists of its own."""
    if isinstance(value, Mapping):
        return {key: copy(inner) for key, inner in value.items()}
    return [copy(inner) for inner in value] if isinstance(value, list) else value


def leaves(value: Any, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value that is neither a table nor a list, with the path to it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, (*steps, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from leaves(inner, (*steps, at))
    else:
        yield steps, value


def is_deep(value: Any, left: int = DEEPEST) -> bool:
    """Whether there is more in each other than there may be."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return left < 0 or any(is_deep(it, left - 1) for it in inner)


def fits(leaf: Any) -> bool:
    """Whether a number, if it is one, is none that TOML may refuse."""
    return type(leaf) is not int or -(2**63) <= leaf < 2**63


def dotted(steps: Sequence[str | int]) -> str:
    """A path as people write it."""
    return ".".join(map(str, steps))
