"""What is wrong with a file is told with its place; what cannot be read never opens a door."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.config.desk import Desk

from threadloom.config import Settings, files, override, toml, trees
from threadloom.config.files import MAX_BYTES
from threadloom.config.load import check
from threadloom_protocol.errors import InvalidRequest

UNKNOWN = """\
# a comment
model = "m"
modle = "typo"

[tui]
whatever = 1

[features]
anything = true

[mcp_servers.docs]
command = "x"
args = [
  "one",
  "two",
]
comand = "y"

[model_providers.p]
base_url = "http://127.0.0.1:9"
bse_url = "z"

[sandbox_workspace_write]
network_access = true

[shell_environment_policy]
exclud = ["A"]
"""


def test_strict_names_every_unknown_key_with_file_and_line(desk: Desk) -> None:
    file = desk.write(UNKNOWN)
    with pytest.raises(ValueError, match="modle") as refused:
        check(Settings(desk.home))
    assert str(refused.value).splitlines() == [
        f"{file}:3:1: unknown configuration key `modle`",
        f"{file}:17:1: unknown configuration key `mcp_servers.docs.comand`",
        f"{file}:21:1: unknown configuration key `model_providers.p.bse_url`",
        f"{file}:27:1: unknown configuration key `shell_environment_policy.exclud`",
    ]


def test_otherwise_unknown_keys_are_passed_over_and_told(desk: Desk) -> None:
    desk.write(UNKNOWN)
    loaded = desk.load()
    assert loaded.config.model == "m"
    assert loaded.config.mcp_servers["docs"].args == ("one", "two")
    assert all(fault.unknown for fault in loaded.faults)
    assert len(loaded.faults) == 4


def test_keys_that_codex_may_know_are_no_fault_in_codex_s_file_unless_strict(guest: Desk) -> None:
    assert guest.foreign is not None
    guest.write(UNKNOWN, guest.foreign / "config.toml")
    assert guest.load().faults == ()
    guest.strict = True
    with pytest.raises(InvalidRequest, match=r"codex/config.toml:3:1: unknown configuration key `modle`"):
        guest.load()


def test_strict_reads_flags_profiles_and_trusted_projects_too(desk: Desk) -> None:
    top = desk.project("\nodd = 1\n")
    desk.write("[profiles.p]\nodder = 1\n" + desk.trust(top))
    with pytest.raises(ValueError, match="odd") as refused:
        check(Settings(desk.home, {"oddest.of": "all"}), str(top))
    assert str(refused.value).splitlines() == [
        "--config: unknown configuration key `oddest`",
        f"{top}/.threadloom/config.toml:2:1: unknown configuration key `odd`",
        f"{desk.file}:2:1: unknown configuration key `profiles.p.odder`",
    ]


def test_strict_is_content_with_a_file_that_has_no_fault(desk: Desk) -> None:
    desk.write('model = "m"\nhide_agent_reasoning = true\n[otel]\nexporter = "none"\n')
    check(Settings(desk.home))


BROKEN = [
    ('model = "a"\nfoo = = 3\n', 2, 7),
    ('model = "a\n', 1, 11),
    ("[table\n", 1, 7),
    ("a = 1\na = 2\n", 2, 6),
    ("a = [1,\n2", 2, 2),
    ('# fine\n\n\nmodel = "a"\nx\n', 5, 2),
    (f"a = 1\nmodel_context_window = {'9' * 5000}\n", 2, 24),
    (f"a = 1\nmodel_context_window = 0x{'f' * 5000}\n", 2, 1),
    (f"[tui]\na = [1, {2**63}]\n", 2, 1),
    (f"a = {'[' * 2000}{']' * 2000}\n", 1, 1),
]


@pytest.mark.parametrize(("text", "line", "column"), BROKEN)
def test_a_broken_file_is_told_with_its_place_and_the_rest_goes_on(
    desk: Desk, text: str, line: int, column: int
) -> None:
    desk.write(text)
    loaded = desk.load(model="flag")
    (fault,) = loaded.faults
    assert str(fault).startswith(f"{desk.file}:{line}:{column}: ")
    warning = fault.warning()
    assert warning.path == str(desk.file)
    assert warning.range is not None
    assert (warning.range.start.line, warning.range.start.column) == (line, column)
    assert loaded.config.model == "flag"
    with pytest.raises(ValueError, match=f":{line}:{column}: "):
        check(Settings(desk.home))


@pytest.mark.parametrize("text", [text for text, _, _ in BROKEN])
def test_behind_a_broken_file_everything_is_careful(desk: Desk, text: str) -> None:
    desk.write(text)
    config = desk.load().config
    assert (config.approval_policy, config.sandbox_mode) == ("untrusted", "read-only")
    assert desk.load(sandbox_mode="workspace-write").config.sandbox_mode == "workspace-write"


def test_a_mark_that_editors_put_first_is_no_part_of_the_text(desk: Desk) -> None:
    desk.home.mkdir()
    (desk.home / "words").write_bytes(BOM_UTF8 + b"Be kind.\r\n")
    desk.file.write_bytes(BOM_UTF8 + b'model = "a"\r\nmodel_instructions_file = "words"\r\n')
    loaded = desk.load()
    assert (loaded.config.model, loaded.base_instructions, loaded.faults) == ("a", "Be kind.", ())


def test_what_is_not_text_is_broken_too(desk: Desk) -> None:
    desk.home.mkdir()
    desk.file.write_bytes(b'model = "a"\n\xff\n')
    assert str(desk.load().faults[0]).startswith(f"{desk.file}:2:1: not UTF-8")
    desk.file.unlink()
    desk.file.mkdir()
    assert "config.toml" in str(desk.load().faults[0])


def long(path: Path) -> None:
    """A file that is too long, and takes no space."""
    path.touch()
    os.truncate(path, MAX_BYTES + 1)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, long])
def test_what_is_no_file_to_read_is_refused_and_nothing_of_it_stays_open(tmp_path: Path, make: Any) -> None:
    make(path := tmp_path / "config.toml")
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with pytest.raises(OSError, match=r"regular file|longer than"):
            files.read(path)
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize(
    ("line", "key", "instead"),
    [
        ("model = 5", "model", None),
        ("model_context_window = -1", "model_context_window", None),
        ("project_doc_fallback_filenames = [1]", "project_doc_fallback_filenames.0", None),
        ('approval_policy = "nevr"', "approval_policy", ("approval_policy", "untrusted")),
        ('sandbox_mode = "readonly"', "sandbox_mode", ("sandbox_mode", "read-only")),
        ('sandbox_workspace_write = { network_access = "yes" }', "sandbox_workspace_write.network_access", None),
        ("mcp_servers.bad = { command = 1 }", "mcp_servers.bad.command", None),
        ('model_providers.bad = { wire_api = "soap" }', "model_providers.bad.wire_api", None),
        ("mcp_servers.bad = { args = [] }", "mcp_servers.bad", None),
    ],
)
def test_one_bad_value_is_passed_over_and_costs_nothing_else(
    desk: Desk, line: str, key: str, instead: tuple[str, str] | None
) -> None:
    desk.write(f'review_model = "r"\n{line}\nmcp_servers.good = {{ command = "c" }}\n')
    loaded = desk.load()
    (fault,) = loaded.faults
    assert f"`{key}`" in str(fault)
    if fault.spot is not None:
        assert fault.spot.line == 2
    config = loaded.config
    assert config.review_model == "r"
    assert list(config.mcp_servers) == ["good"]
    assert "bad" not in config.model_providers
    assert not config.sandbox_workspace_write.network_access
    if instead:
        assert getattr(config, instead[0]) == instead[1]


def test_a_bad_value_in_a_profile_is_as_careful(desk: Desk) -> None:
    desk.write('profile = "p"\napproval_policy = "never"\n[profiles.p]\napproval_policy = "nope"\n')
    loaded = desk.load()
    assert loaded.config.approval_policy == "untrusted"
    assert str(loaded.faults[0]).startswith(f"{desk.file}:4:1: `profiles.p.approval_policy`")


def test_no_fault_repeats_a_value(desk: Desk) -> None:
    desk.write('[model_providers.p]\nhttp_headers = { Authorization = ["sk-secret"] }\nenv_key = { k = "sk-secret" }\n')
    loaded = desk.load()
    assert len(loaded.faults) == 2
    assert "sk-secret" not in "".join(map(str, loaded.faults))


# ── where a key is ────────────────────────────────────────────────────────────────────────────────────────────────────

PLACES = '''\
# [a]
top = """
[a]
x = 1
"""

[a]
x = [
  1,
  2,
]  # y = 3
y = 4
b.c = 5
[a.d]
"quo ted" = { in = "line" }
[[rows]]
n = 1
[[rows]]
n = 2
m = 3
'''


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("top",), 2, 1),
        (("a",), 7, 2),
        (("a", "x"), 8, 1),
        (("a", "x", 1), 8, 1),
        (("a", "y"), 12, 1),
        (("a", "b", "c"), 13, 3),
        (("a", "d"), 14, 4),
        (("a", "d", "quo ted", "in"), 15, 15),
        (("rows", 0, "n"), 17, 1),
        (("rows", 1), 18, 3),
        (("rows", 1, "m"), 20, 1),
    ],
)
def test_a_key_is_found_where_it_is_written(path: tuple[str | int, ...], line: int, column: int) -> None:
    assert toml.locate(PLACES, path) == (line, column)


STATEMENTS = ("# c{}", "", "a{} = 1", 'b{} = """\nx\n[a]\n# d\n"""', "[t{}]", "c{} = [\n1,\n# z\n\n]", "d{}.e = 1")


@given(st.lists(st.sampled_from(STATEMENTS), max_size=12))
def test_every_key_of_any_file_is_found_on_the_line_that_names_it(statements: list[str]) -> None:
    text = "\n".join(statement.format(at) for at, statement in enumerate(statements))
    for path, _ in trees.leaves(toml.parse(text)):
        name = next(step for step in reversed(path) if isinstance(step, str) and step != "e")
        assert name in text.split("\n")[toml.locate(text, path).line - 1]


# ── flags ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model=gpt", ("model", "gpt")),
        ('model="gpt"', ("model", "gpt")),
        ("a.b=true", ("a.b", True)),
        ("a=[1, 2]", ("a", [1, 2])),
        ("a={b=1}", ("a", {"b": 1})),
        ('projects."/x.y".trust_level="trusted"', ('projects."/x.y".trust_level', "trusted")),
        (" a = 1 ", ("a", 1)),
        ("a=", ("a", "")),
        (f"a={'9' * 5000}", ("a", "9" * 5000)),
    ],
)
def test_a_flag_is_toml_or_else_text(text: str, expected: tuple[str, Any]) -> None:
    assert override(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=1",
        "model",
        "a..b=1",
        ".=1",
        'a."b=1',
        f"{'a.' * 65}b=1",
        f"a={'[' * 99}{']' * 99}",
        f"a=[{'9' * 5000}]",
        f"a={2**63}",
        f"a={'[' * 2000}{']' * 2000}",
    ],
)
def test_a_flag_that_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="--config"):
        override(text)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ('projects."/x.y".z', ("projects", "/x.y", "z")),
        ("projects.'/x.y'", ("projects", "/x.y")),
        (r'a."q\"uo\u00e9"', ("a", 'q"uoé')),
        ("projects./x", ("projects", "/x")),
    ],
)
def test_a_path_has_segments(text: str, path: tuple[str, ...]) -> None:
    assert trees.path(text) == path
