"""Changes to the text of a TOML file that leave the rest of it as it was, comments included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table

from threadloom.config import rows, toml, trees

if TYPE_CHECKING:
    from threadloom_protocol.v2.config import ConfigEdit


class Unfit(ValueError):
    """An edit that the file cannot take."""


def planned(values: trees.Tree, edits: Sequence[ConfigEdit]) -> trees.Tree:
    """What the values will be. Raises `Unfit`."""
    new: trees.Tree = trees.copy(values)
    for edit in edits:
        steps = _steps(edit)
        if edit.value is None:
            _clear(new, steps)
            continue
        _writable(edit.value, steps)
        _open_road(new, steps)
        before = trees.get(new, steps)
        merged = edit.merge_strategy == "upsert" and isinstance(before, dict) and isinstance(edit.value, dict)
        trees.put(new, steps, trees.merge(before, edit.value) if merged else trees.copy(edit.value))
    return new


def _steps(edit: ConfigEdit) -> trees.Path:
    try:
        return trees.path(edit.key_path)
    except ValueError as fault:
        raise Unfit(str(fault)) from None


def _clear(values: trees.Tree, steps: trees.Path) -> None:
    """Take a value out, and the tables that are empty without it."""
    trees.drop(values, steps)
    while len(steps) > 1 and trees.get(values, steps := steps[:-1]) == {}:
        trees.drop(values, steps)


def _writable(value: Any, steps: trees.Path) -> None:
    if trees.is_deep(value):
        raise Unfit(f"`{trees.dotted(steps)}` is nested too deeply")
    for at, leaf in trees.leaves(value, steps):
        if leaf is None:
            raise Unfit(f"`{trees.dotted(at)}` is null, which TOML has no word for")
        if not trees.fits(leaf):
            raise Unfit(f"`{trees.dotted(at)}` is too large a number")


def _open_road(values: trees.Tree, steps: trees.Path) -> None:
    for end in range(1, len(steps)):
        if not isinstance(trees.get(values, steps[:end], {}), dict):
            raise Unfit(f"`{trees.dotted(steps[:end])}` is not a table")


def rewritten(text: str, new: trees.Tree) -> str | None:
    """The text with these values: what stays the same keeps its place, its form and its comments.

    None where tables lie so scattered that the editor would lose something: what it makes is read again to be sure.
    """
    try:
        result = _rewritten(text, new)
        return result if toml.parse(result) == new else None
    except (TOMLKitError, LookupError, TypeError, ValueError):
        return None


def laid_out(new: trees.Tree) -> str:
    """A text of these values and nothing else."""
    return _rewritten("", new)


def _rewritten(text: str, new: trees.Tree) -> str:
    # The library counts a comment above a header to the table before it.
    bare, remarks = rows.without_remarks(text)
    document = tomlkit.parse(bare)
    # A value that comes after a table's header is that table's: new ones for the top go in by hand.
    top = {key: value for key, value in new.items() if key not in document and not _has_tables(value)}
    _sync(document, {key: value for key, value in new.items() if key not in top})
    result = tomlkit.dumps(document)
    if not text.endswith("\n\n"):
        result = result.rstrip("\n") + "\n" * bool(result.strip())
    for key, value in top.items():
        result = rows.with_statement(result, f"{tomlkit.key(key).as_string()} = {tomlkit.item(value).as_string()}\n")
    return rows.with_remarks(result, remarks)


def _sync(table: Any, new: Mapping[str, Any]) -> None:
    """Make a table hold these values."""
    for key in [key for key in table if key not in new]:
        del table[key]
    for key, value in new.items():
        if key not in table:
            table[key] = fresh = _fresh(value, inline=isinstance(table, InlineTable))
            _set_apart(fresh)
        elif isinstance(table[key], Mapping) and isinstance(value, Mapping):
            _sync(table[key], value)
        elif table[key] != value or type(_plain(table[key])) is not type(value):
            table[key] = value


def _has_tables(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(map(_has_tables, value)))


def _plain(item: Any) -> Any:
    return item.unwrap() if hasattr(item, "unwrap") else item


def _fresh(value: Any, *, inline: bool) -> Any:
    """A new value; a table that only holds tables gets no header of its own."""
    if not isinstance(value, Mapping) or inline:
        return value
    table: Table = tomlkit.table(is_super_table=bool(value) and all(isinstance(it, Mapping) for it in value.values()))
    for key, inner in value.items():
        table.add(key, _fresh(inner, inline=False))
    return table


def _set_apart(value: Any) -> None:
    """End a new table with a blank line, for another one may follow."""
    if isinstance(value, Table):
        last = value.value.body[-1][1] if value.value.body else None
        if isinstance(last, Table):
            _set_apart(last)
        else:
            value.add(tomlkit.nl())
