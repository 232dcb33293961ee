"""Commands get what they need of the environment, and none of its secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadloom.config.values import ShellEnvironment
from threadloom.exec.environment import QUIET, environment, is_secret

BASE = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LANG": "C.UTF-8",
    "EDITOR": "vi",
    "MY_VAR": "1",
    "OPENAI_API_KEY": "k",
    "Github_Token": "t",
    "db_password": "p",
    "CLIENT_SECRET_ID": "s",
    "THREADLOOM_TOKEN": "ours",
    "THREADLOOM_HOME": "/x",
    "PROVIDER": "hidden by its name in the configuration",
}
OPEN = {"PATH", "HOME", "LANG", "EDITOR", "MY_VAR", "THREADLOOM_HOME"}
SECRETS = {"OPENAI_API_KEY", "Github_Token", "db_password", "CLIENT_SECRET_ID"}


@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ({}, OPEN),
        ({"inherit": "core"}, {"PATH", "HOME", "LANG"}),
        ({"inherit": "none"}, set()),
        ({"ignore_default_excludes": True}, OPEN | SECRETS),
        ({"exclude": ("my_*", "ed?tor")}, OPEN - {"MY_VAR", "EDITOR"}),
        ({"exclude": ("[PH]*",)}, OPEN - {"PATH", "HOME"}),
        ({"include_only": ("path", "*_VAR")}, {"PATH", "MY_VAR"}),
        ({"include_only": ("*",)}, OPEN),
        ({"include_only": ("*TOKEN*",)}, set()),
        ({"set": {"A": "b"}}, OPEN | {"A"}),
        ({"inherit": "none", "set": {"A_TOKEN": "b"}}, {"A_TOKEN"}),
        ({"set": {"A": "b"}, "exclude": ("A",)}, OPEN | {"A"}),
        ({"set": {"A": "b"}, "include_only": ("PATH",)}, {"PATH"}),
    ],
)
def test_the_policy_says_who_comes_along(policy: dict[str, object], names: set[str]) -> None:
    found = environment(BASE, ShellEnvironment.model_validate(policy), secrets=["provider"])
    assert set(found) == names
    assert all(found[name] == BASE.get(name, "b") for name in names)


def test_our_own_secrets_stay_whatever_the_policy_says() -> None:
    policy = ShellEnvironment(ignore_default_excludes=True, include_only=("*",))
    found = environment(BASE, policy, secrets=["PROVIDER", "OPENAI_API_KEY"])
    assert set(found) == OPEN | SECRETS - {"OPENAI_API_KEY"}


def test_a_value_that_the_policy_sets_wins_over_all_others() -> None:
    policy = ShellEnvironment(set={"PATH": "/mine", "TERM": "xterm"})
    found = environment(BASE | {"TERM": "vt100"}, policy, extra=QUIET)
    assert (found["PATH"], found["TERM"], found["PAGER"]) == ("/mine", "xterm", "cat")


@given(st.dictionaries(st.text(), st.text()), st.sampled_from(["all", "core", "none"]), st.lists(st.text(), max_size=3))
def test_no_secret_gets_through_by_default(base: dict[str, str], inherit: str, exclude: list[str]) -> None:
    before = dict(base)
    found = environment(base, ShellEnvironment.model_validate({"inherit": inherit, "exclude": exclude}))
    assert not any(is_secret(name) for name in found)
    assert found.items() <= base.items()
    assert base == before
