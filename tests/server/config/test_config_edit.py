"""Edits of a text: what is asked for changes, and nothing else."""

from __future__ import annotations

import difflib
from json import loads
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st
from tests.server.config.desk import edit

from threadloom.config import toml, trees
from threadloom.config.edit import Unfit, laid_out, planned, rewritten

TEXT = '''\
# my settings
model = "a"  # the small one
list = [
  "x",  # one
  # two
]
text = """
[not.a.header]
# no comment"""

# about servers
[mcp_servers.docs]  # reads manuals
command = "x"
# where they are
args = ["1"]
env = { A = "1" }

[projects."/a.b"]
trust_level = "trusted"

# the last one
[tui]
notifications = true
'''

# An edit, the lines that go, the lines that come.
CHANGES: list[tuple[tuple[Any, ...], list[str], list[str]]] = [
    (("model", "b"), ['model = "a"  # the small one'], ['model = "b"  # the small one']),
    (("model", None), ['model = "a"  # the small one'], []),
    (("model", "a"), [], []),
    (("missing", None), [], []),
    (("sandbox_mode", "read-only"), [], ['sandbox_mode = "read-only"']),
    (("mcp_servers.docs.args", ["2"]), ['args = ["1"]'], ['args = ["2"]']),
    (("mcp_servers.docs.env.B", "2"), ['env = { A = "1" }'], ['env = { A = "1", B = "2"}']),
    (("mcp_servers.docs", {"args": []}, "upsert"), ['args = ["1"]'], ["args = []"]),
    (('projects."/a.b".trust_level', "untrusted"), ['trust_level = "trusted"'], ['trust_level = "untrusted"']),
    (('projects."/c".trust_level', "trusted"), [], ['[projects."/c"]', 'trust_level = "trusted"']),
    (('projects."/a.b"', None), ['[projects."/a.b"]', 'trust_level = "trusted"'], []),
    (("tui.notifications", ["a"]), ["notifications = true"], ['notifications = ["a"]']),
    (("tui.theme", "dark"), [], ['theme = "dark"']),
    (("a.b.c", 1), [], ["[a.b]", "c = 1"]),
]


@pytest.mark.parametrize(("change", "gone", "come"), CHANGES)
def test_an_edit_changes_its_own_lines_and_no_other(change: tuple[Any, ...], gone: list[str], come: list[str]) -> None:
    new = planned(toml.parse(TEXT), [edit(*change)])
    text = rewritten(TEXT, new)
    assert text is not None
    moved = [line for line in difflib.ndiff(TEXT.splitlines(), text.splitlines()) if line[0] in "+-" and line[2:]]
    assert [line[2:] for line in moved if line[0] == "-"] == gone
    assert [line[2:] for line in moved if line[0] == "+"] == come


def test_a_new_setting_goes_behind_the_others_and_not_under_the_comment_of_a_table() -> None:
    new = planned(toml.parse(TEXT), [edit("sandbox_mode", "read-only"), edit("notify", ["a"])])
    text = rewritten(TEXT, new)
    assert text is not None
    assert '\n# no comment"""\nsandbox_mode = "read-only"\nnotify = ["a"]\n\n# about servers\n[mcp_servers' in text


def test_a_remark_stays_with_its_table() -> None:
    added = rewritten(TEXT, planned(toml.parse(TEXT), [edit('projects."/z".trust_level', "trusted")]))
    assert added is not None
    assert '[projects."/z"]\ntrust_level = "trusted"\n\n# the last one\n[tui]\n' in added
    taken = rewritten(TEXT, planned(toml.parse(TEXT), [edit("mcp_servers", None)]))
    assert taken is not None
    assert "# about servers" not in taken
    assert "# the last one\n[tui]\n" in taken


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'model = "m"\n'),
        ("# mine\n", '# mine\nmodel = "m"\n'),
        ("# mine", '# mine\nmodel = "m"\n'),
        ("[t]\nx = 1\n", 'model = "m"\n\n[t]\nx = 1\n'),
        ("# mine\n\n# of t\n[t]\nx = 1\n", '# mine\n\nmodel = "m"\n\n# of t\n[t]\nx = 1\n'),
        ("a = 1", 'a = 1\nmodel = "m"\n'),
        ("a = 1\n# after\n", 'a = 1\nmodel = "m"\n# after\n'),
        ("a = 1\r\n[t]\r\n", 'a = 1\r\nmodel = "m"\n[t]\r\n'),
    ],
)
def test_where_a_first_setting_goes(text: str, expected: str) -> None:
    assert rewritten(text, planned(toml.parse(text), [edit("model", "m")])) == expected


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ({"t": {"a": 1, "b": 2}}, ("t", {"a": 9}), {"t": {"a": 9}}),
        ({"t": {"a": 1, "b": 2}}, ("t", {"a": 9}, "upsert"), {"t": {"a": 9, "b": 2}}),
        ({"t": {"u": {"a": 1}}}, ("t", {"u": {"b": 2}}, "upsert"), {"t": {"u": {"a": 1, "b": 2}}}),
        ({"t": 1}, ("t", {"a": 1}, "upsert"), {"t": {"a": 1}}),
        ({"l": [1, 2]}, ("l", [3], "upsert"), {"l": [3]}),
        ({"t": {"u": {"a": 1}}}, ("t.u.a", None), {}),
        ({"t": {"u": {"a": 1}, "b": 2}}, ("t.u.a", None), {"t": {"b": 2}}),
        ({}, ('p."/x.y".z', True), {"p": {"/x.y": {"z": True}}}),
    ],
)
def test_what_an_edit_means(before: dict[str, Any], change: tuple[Any, ...], after: dict[str, Any]) -> None:
    kept = trees.copy(before)
    assert planned(before, [edit(*change)]) == after
    assert before == kept


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("", 1, "must not be empty"),
        ("a..b", 1, "segments must not be empty"),
        ('a."b', 1, "not closed"),
        ('"a"b', 1, "closing quote"),
        ("model.x", 1, "`model` is not a table"),
        ("list.0", 1, "`list` is not a table"),
        ("a", [1, None], "null"),
        ("a", {"b": {"c": None}}, "`a.b.c` is null"),
        ("a", 2**63, "too large"),
        ("a", loads("[" * 900 + "]" * 900), "`a` is nested too deeply"),
        ("a." * 900 + "b", 1, "more than 64 segments"),
    ],
)
def test_an_edit_that_a_file_cannot_take_is_refused(key: str, value: Any, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        planned(toml.parse(TEXT), [edit(key, value)])


SCATTERED = TEXT + "\n[mcp_servers.docs.deep.er]\nk = 1\n"


def test_scattered_tables_lose_nothing() -> None:
    """The editor cannot do this one; it says so, and the values can be laid out anew."""
    new = planned(toml.parse(SCATTERED), [edit("mcp_servers.docs", {"k": {"l": 1}})])
    text = rewritten(SCATTERED, new)
    assert text is None or toml.parse(text) == new
    assert toml.parse(laid_out(new)) == new


NAMES = st.sampled_from(["model", "a", "b c", "mcp_servers", "docs", "/a.b", "projects", "é", "", "tui"])
LEAVES = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.lists(st.text(max_size=4), max_size=3),
)
TREES = st.dictionaries(
    NAMES, st.recursive(LEAVES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6), max_size=4
)


@given(old=TREES, new=TREES)
def test_whatever_is_rewritten_says_what_it_should(old: dict[str, Any], new: dict[str, Any]) -> None:
    text = rewritten(tomlkit.dumps(old), new)
    assert text is None or toml.parse(text) == new
    assert toml.parse(laid_out(new)) == new


@given(st.lists(st.tuples(NAMES, TREES), min_size=1, max_size=3))
def test_nearly_everything_can_be_edited_in_place(changes: list[tuple[str, dict[str, Any]]]) -> None:
    edits = [edit(f'mcp_servers."{name}"', value or None, "upsert") for name, value in changes]
    new = planned(toml.parse(TEXT), edits)
    text = rewritten(TEXT, new)
    assert text is not None
    assert ("# about servers\n[mcp_servers.docs]" in text) is ("docs" in new.get("mcp_servers", {}))
    assert "# the last one\n[tui]" in text
