"""Which layer wins, what a project may say, and what comes out."""

from __future__ import annotations

import os
from json import loads
from pathlib import Path
from typing import Any

import pytest
from tests.server.config.desk import Desk

from threadloom.config import Settings, foreign, home
from threadloom.config.auth import Keyring
from threadloom.config.load import Configuration
from threadloom_protocol.errors import InvalidRequest

# ── precedence ────────────────────────────────────────────────────────────────────────────────────────────────────────

# From the lowest to the highest; each layer says its own name.
LAYERS = ("codex", "user", "profile", "root", "below", "flag", "thread")


def load_with(guest: Desk, present: set[str], key: str) -> Any:
    """The configuration where these layers say `KEY = "their name"`."""
    assert guest.foreign is not None
    line = {name: f'{key} = "{name}"\n' if name in present else "" for name in LAYERS}
    root, below = guest.project(line["root"]), guest.project(line["below"], "a", "b")
    chosen = 'profile = "mine"\n' if "profile" in present else ""
    guest.write(line["codex"] + guest.trust(root), guest.foreign / "config.toml")
    guest.write(chosen + line["user"] + f"[profiles.mine]\n{line['profile']}")
    flags = {key: "flag"} if "flag" in present else {}
    thread = {key: "thread"} if "thread" in present else None
    return guest.load(below, thread, **flags)


@pytest.mark.parametrize("at", range(len(LAYERS)))
def test_the_highest_layer_that_says_something_wins(guest: Desk, at: int) -> None:
    loaded = load_with(guest, set(LAYERS[: at + 1]), "model")
    assert loaded.config.model == LAYERS[at]
    assert [name for name, _ in loaded.origins()].count("model") == 1


@pytest.mark.parametrize("low", range(len(LAYERS)))
@pytest.mark.parametrize("high", range(len(LAYERS)))
def test_of_any_two_layers_the_higher_one_wins(guest: Desk, low: int, high: int) -> None:
    assert load_with(guest, {LAYERS[low], LAYERS[high]}, "model").config.model == LAYERS[max(low, high)]


def test_layers_add_up_where_they_speak_of_different_things(desk: Desk) -> None:
    desk.write('model = "m"\n[mcp_servers.docs]\ncommand = "docs"\nargs = ["a", "b"]\n')
    loaded = desk.load(mcp_servers__docs__args=["c"], mcp_servers__other__url="http://127.0.0.1:9")
    assert loaded.config.model == "m"
    assert loaded.config.mcp_servers["docs"].command == "docs"
    assert loaded.config.mcp_servers["docs"].args == ("c",)
    assert loaded.config.mcp_servers["other"].url == "http://127.0.0.1:9"
    origins = {key: layer.name.type for key, layer in loaded.origins()}
    assert origins == {
        "model": "user",
        "mcp_servers.docs.command": "user",
        "mcp_servers.docs.args.0": "sessionFlags",
        "mcp_servers.other.url": "sessionFlags",
    }


def test_a_file_that_changes_is_read_again(desk: Desk) -> None:
    configuration = desk.configuration()
    assert configuration.load().config.model is None
    for model in ("one", "two", "one"):
        desk.write(f'model = "{model}"\n')
        assert configuration.load().config.model == model
    desk.file.unlink()
    assert configuration.load().config.model is None


def test_nothing_is_made_anew_while_nothing_changes(desk: Desk) -> None:
    desk.write('model = "m"\n')
    configuration = desk.configuration()
    assert configuration.load(str(desk.room)).config is configuration.load(str(desk.room)).config


def test_with_no_file_at_all_there_are_defaults(desk: Desk) -> None:
    config = desk.load().config
    assert (config.model_provider, config.approval_policy, config.sandbox_mode) == (
        "rehearsal",
        "on-request",
        "workspace-write",
    )
    assert (config.agents.max_threads, config.agents.max_depth) == (12, 2)
    assert config.project_doc_max_bytes == 32 * 1024
    assert not desk.home.exists(), "reading makes no files"


# ── profiles ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_profile_is_chosen_by_file_or_by_flag(desk: Desk) -> None:
    desk.write('profile = "a"\nmodel = "base"\n[profiles.a]\nmodel = "from-a"\n[profiles.b]\nmodel = "from-b"\n')
    assert desk.load().config.model == "from-a"
    chosen = desk.load(profile="b")
    assert chosen.config.model == "from-b"
    assert [getattr(layer.name, "profile", None) for layer in chosen.layers] == [None, "b", None]


def test_a_profile_on_the_command_line_gives_way_to_a_flag_beside_it(desk: Desk) -> None:
    desk.write("")
    assert desk.load(profile="x", profiles__x__model="of-x").config.model == "of-x"
    assert desk.load(profile="x", profiles__x__model="of-x", model="flag").config.model == "flag"


def test_a_profile_is_read_like_the_rest_of_its_file(desk: Desk) -> None:
    desk.write("You weave.", desk.home / "rules.md")
    desk.write('profile = "a"\n[profiles.a]\napproval_policy = "on-failure"\nmodel_instructions_file = "rules.md"\n')
    loaded = desk.load()
    assert loaded.faults == ()
    assert loaded.config.approval_policy == "on-request"
    assert loaded.base_instructions == "You weave."


def test_a_profile_that_is_not_there_is_told(desk: Desk) -> None:
    desk.write('profile = "nope"\n')
    assert [str(fault) for fault in desk.load().faults] == [f"{desk.file}: there is no profile `nope`"]


# ── projects ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("root", "below", "counts"),
    [
        (None, None, []),
        ("trusted", None, ["root", "below"]),
        ("untrusted", None, []),
        (None, "trusted", ["below"]),
        ("trusted", "untrusted", ["root"]),
        ("untrusted", "trusted", ["below"]),
    ],
)
def test_a_project_counts_where_it_is_trusted(
    desk: Desk, root: str | None, below: str | None, counts: list[str]
) -> None:
    top, folder = desk.project('model = "root"'), desk.project('review_model = "below"', "src", "deep")
    levels = {top: root, folder.parent: below}
    desk.write("".join(desk.trust(path, level) for path, level in levels.items() if level))
    loaded = desk.load(folder)
    assert [it for it in (loaded.config.model, loaded.config.review_model) if it] == counts
    shown = [layer for layer in loaded.layers if layer.name.type == "project"]
    assert [layer.said for layer in shown] == [{"review_model": "below"}, {"model": "root"}]
    for layer in shown:
        assert (layer.disabled is None) is (next(iter(layer.said.values())) in counts)
        assert layer.disabled is None or "not trusted" in layer.disabled
    assert loaded.faults == ()


def test_outside_a_repository_only_the_folder_itself_counts(desk: Desk) -> None:
    inner = desk.room / "plain" / "inner"
    for folder in (inner, inner.parent):
        desk.write(f'model = "{folder.name}"', folder / ".threadloom" / "config.toml")
    desk.write(desk.trust(inner) + desk.trust(inner.parent))
    assert [layer.said for layer in desk.load(inner).layers if layer.name.type == "project"] == [{"model": "inner"}]


def test_paths_that_can_be_none_harm_nobody(desk: Desk) -> None:
    top = desk.project('model = "p"')
    desk.write('model_instructions_file = "~nobody-here/x"\n' + desk.trust(top) + desk.trust(Path("\\u0000")))
    loaded = desk.load(top)
    assert loaded.config.model == "p"
    assert [fault.key for fault in loaded.faults] == [("model_instructions_file",)]
    with pytest.raises(InvalidRequest, match="nested too deeply"):
        desk.load(top, {"tui": loads("[" * 900 + "]" * 900)})


def test_trust_sees_through_links(desk: Desk) -> None:
    top = desk.project('model = "p"')
    link = desk.room / "link"
    link.symlink_to(top)
    desk.write(desk.trust(top))
    assert desk.load(link).config.model == "p"


def test_the_home_is_no_project(desk: Desk) -> None:
    folder = desk.room / ".threadloom"
    desk.write('model = "m"', folder / "config.toml")
    at_home = Configuration(Settings(folder), Keyring(folder, {}), {}).load(str(desk.room))
    assert [layer.name.type for layer in at_home.layers] == ["user"]
    assert [layer.name.type for layer in desk.load(desk.room).layers] == ["project", "user"], "for another home it is"


RESERVED = {
    "model_provider": '"evil"',
    "model_providers": '{ evil = { base_url = "http://127.0.0.1:9" } }',
    "openai_base_url": '"http://127.0.0.1:9"',
    "notify": '["sh", "-c", "true"]',
    "profile": '"evil"',
    "profiles": '{ evil = { model = "x" } }',
    "projects": '{ "/" = { trust_level = "trusted" } }',
}


@pytest.mark.parametrize("key", RESERVED)
def test_a_project_may_not_say_where_keys_go_or_what_runs(desk: Desk, key: str) -> None:
    top = desk.project(f'model = "p"\n{key} = {RESERVED[key]}\n')
    desk.write(desk.trust(top))
    loaded = desk.load(top)
    assert loaded.config.model == "p"
    assert loaded.values.get(key) in (None, {str(top): {"trust_level": "trusted"}})
    assert loaded.config.model_provider == "rehearsal"
    assert [fault.key for fault in loaded.faults] == [(key,)]
    assert str(loaded.faults[0]).startswith(str(top / ".threadloom" / "config.toml"))


def test_a_pipe_in_a_strangers_repository_holds_nobody_up(desk: Desk) -> None:
    top = desk.project("")
    file = top / ".threadloom" / "config.toml"
    file.unlink()
    os.mkfifo(file)
    desk.write(desk.trust(top))
    assert "not a regular file" in str(desk.load(top).faults[0])


def test_paths_are_meant_from_where_the_file_lies(desk: Desk) -> None:
    top = desk.project('model_instructions_file = "rules.md"')
    desk.write("", top / ".threadloom" / "rules.md")
    desk.write('experimental_compact_prompt_file = "/abs/compact.md"\n' + desk.trust(top))
    config = desk.load(top).config
    assert config.model_instructions_file == str(top / ".threadloom" / "rules.md")
    assert config.experimental_compact_prompt_file == "/abs/compact.md"


def test_instructions_come_from_a_file_or_from_the_configuration_itself(desk: Desk) -> None:
    desk.write('instructions = "inline"\nmodel_instructions_file = "rules.md"\ncompact_prompt = "shorter"\n')
    loaded = desk.load()
    assert (loaded.base_instructions, loaded.compact_prompt) == ("inline", "shorter")
    assert str(loaded.faults[0]).startswith(f"{desk.file}: `model_instructions_file`: there is no text")
    desk.write("From a file.\n", desk.home / "rules.md")
    loaded = desk.load()
    assert (loaded.base_instructions, loaded.faults) == ("From a file.", ())


# ── what comes out ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "environ", "provider", "base"),
    [
        ("", {}, "rehearsal", None),
        ("", {"OPENAI_API_KEY": ""}, "rehearsal", None),
        ("", {"OPENAI_API_KEY": "  "}, "rehearsal", None),
        ("", {"OPENAI_API_KEY": "k"}, "openai", "https://api.openai.com/v1"),
        ('model_provider = "local"', {"OPENAI_API_KEY": "k"}, "local", None),
        ('model_provider = "openai"', {}, "openai", "https://api.openai.com/v1"),
        ('openai_base_url = "http://a/v1"', {"OPENAI_API_KEY": "k"}, "openai", "http://a/v1"),
        ("", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://b/v1"}, "openai", "http://b/v1"),
        ('[model_providers.openai]\nbase_url = "http://c"', {"OPENAI_API_KEY": "k"}, "openai", "http://c"),
        ('model_provider = "m"\n[model_providers.m]\nbase_url = "http://d"', {"OPENAI_API_KEY": "k"}, "m", "http://d"),
        ('model_provider = "ollama"', {}, "ollama", "http://127.0.0.1:11434/v1"),
    ],
)
def test_the_provider_is_what_is_configured_or_what_there_is_a_key_for(
    desk: Desk, text: str, environ: dict[str, str], provider: str, base: str | None
) -> None:
    desk.write(text)
    desk.environ.update(environ)
    config = desk.load().config
    assert config.model_provider == provider
    assert (config.provider.base_url if config.provider else None) == base


def test_a_stored_key_makes_openai_the_default(desk: Desk) -> None:
    configuration = desk.configuration()
    desk.keyring().store("k")
    assert configuration.load().config.model_provider == "openai"
    desk.keyring().forget()
    assert configuration.load().config.model_provider == "rehearsal"


def test_every_key_of_the_contract_is_read(desk: Desk) -> None:
    desk.write(FULL)
    loaded = desk.load()
    assert loaded.faults == ()
    config = loaded.config
    assert config.approval_policy == "never"
    assert config.sandbox_mode == "workspace-write"
    assert config.sandbox_workspace_write.writable_roots == ["/w"]
    assert config.sandbox_workspace_write.network_access
    assert (config.model_reasoning_effort, config.model_reasoning_summary, config.model_verbosity) == (
        "high",
        "concise",
        "low",
    )
    assert (config.model_context_window, config.model_auto_compact_token_limit) == (128000, 100000)
    assert (config.project_doc_max_bytes, config.project_doc_fallback_filenames) == (10, ("CLAUDE.md",))
    assert (config.developer_instructions, config.notify) == ("be brief", ("notify-send", "done"))
    shell = config.shell_environment_policy
    assert (shell.inherit, shell.exclude, shell.set) == ("core", ("AWS_*",), {"CI": "1"})
    assert config.mcp_servers["docs"].args == ("--stdio",)
    assert config.mcp_servers["web"].url == "http://127.0.0.1:9/mcp"
    provider = config.provider
    assert provider is not None
    assert (provider.wire_api, provider.env_key, provider.request_max_retries) == ("chat", "MINE_KEY", 0)
    assert provider.headers({"TEAM": "t", "NOBODY": ""}) == {"X-A": "1", "X-Team": "t"}
    assert config.projects["/p"].trust_level == "trusted"
    assert (config.agents.max_threads, config.agents.max_depth) == (3, 1)
    assert config.tui.notifications == ["agent-turn-complete"]
    assert config.auto_review.policy == "careful"


FULL = """
model = "m"
model_provider = "mine"
approval_policy = "never"
sandbox_mode = "workspace-write"
model_reasoning_effort = "high"
model_reasoning_summary = "concise"
model_verbosity = "low"
model_context_window = 128000
model_auto_compact_token_limit = 100000
project_doc_max_bytes = 10
project_doc_fallback_filenames = ["CLAUDE.md"]
developer_instructions = "be brief"
notify = ["notify-send", "done"]
hide_agent_reasoning = true

[sandbox_workspace_write]
writable_roots = ["/w"]
network_access = true

[shell_environment_policy]
inherit = "core"
exclude = ["AWS_*"]
set = { CI = "1" }

[mcp_servers.docs]
command = "docs-server"
args = ["--stdio"]
startup_timeout_sec = 20

[mcp_servers.web]
url = "http://127.0.0.1:9/mcp"
bearer_token_env_var = "WEB_TOKEN"

[model_providers.mine]
name = "Mine"
base_url = "http://127.0.0.1:9/v1"
wire_api = "chat"
env_key = "MINE_KEY"
request_max_retries = 0
stream_max_retries = 1
stream_idle_timeout_ms = 1000
query_params = { v = "1" }
http_headers = { "X-A" = "1" }
env_http_headers = { "X-Team" = "TEAM", "X-None" = "NOBODY" }
requires_openai_auth = false

[projects."/p"]
trust_level = "trusted"

[agents]
max_threads = 3
max_depth = 1

[tui]
notifications = ["agent-turn-complete"]

[auto_review]
policy = "careful"
"""


def test_granular_approvals_and_the_old_word_are_taken(desk: Desk) -> None:
    granular = "{ granular = { sandbox_approval = true, rules = false, mcp_elicitations = true } }"
    desk.write(f"approval_policy = {granular}\n")
    policy = desk.load().config.approval_policy
    assert not isinstance(policy, str)
    assert policy.granular.sandbox_approval
    desk.write('approval_policy = "on-failure"\n')
    loaded = desk.load()
    assert (loaded.config.approval_policy, loaded.faults) == ("on-request", ())


def test_a_thread_may_override_any_key_for_itself(desk: Desk) -> None:
    loaded = desk.load(None, {"model": "t", "sandbox_workspace_write.network_access": True, "web_search": None})
    assert loaded.config.model == "t"
    assert loaded.config.sandbox_workspace_write.network_access


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        ({"approval_policy": "bogus"}, "approval_policy"),
        ({"model": 5}, "model"),
        ({"a..b": 1}, "segments"),
    ],
)
def test_an_override_of_a_thread_that_does_not_fit_is_refused(desk: Desk, overrides: Any, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        desk.load(None, overrides)


# ── homes ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("environ", "where", "codex"),
    [
        ({"HOME": "/u"}, "/u/.threadloom", None),
        ({"HOME": "/u", "THREADLOOM_HOME": "/t"}, "/t", None),
        ({"HOME": "/u", "CODEX_HOME": "/c"}, "/c/threadloom", "/c"),
        ({"HOME": "/u", "CODEX_HOME": ""}, "/u/.threadloom", None),
        ({"HOME": "/u", "CODEX_HOME": "/c", "THREADLOOM_HOME": "/t"}, "/t", None),
        ({"HOME": "/u", "CODEX_HOME": "/c", "THREADLOOM_HOME": ""}, "/c/threadloom", "/c"),
    ],
)
def test_where_home_is(environ: dict[str, str], where: str, codex: str | None) -> None:
    assert home(environ) == Path(where)
    assert foreign(environ) == (Path(codex) if codex else None)
