"""Start-up is a feature: what only prints something imports next to nothing. And completion, in a real bash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.server.cli.stock import Stock, process, stocked
from tests.support.processes import THREADLOOM, environment

# Everything that takes time to import; argparse alone is needed to read the command line.
HEAVY = (
    "asyncio",
    "anyio",
    "pydantic",
    "rich",
    "prompt_toolkit",
    "sqlite3",
    "websockets",
    "openai",
    "orjson",
    "subprocess",
)
PROBE = """
import sys
from threadloom.cli import main
sys.argv = ["threadloom", *{words!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print([it for it in {heavy!r} if it in sys.modules], len([it for it in sys.modules if it.startswith("threadloom")]))
"""


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["exec", "--help"], ["completion", "bash"]], ids=" ".join)
def test_what_only_prints_imports_next_to_nothing(words: list[str], tmp_path: Path) -> None:
    code = PROBE.format(words=words, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    heavy, _, modules = done.stdout.splitlines()[-1].rpartition(" ")
    assert heavy == "[]", heavy
    assert int(modules) < 12
    assert not (tmp_path / "threadloom").exists()


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return stocked(tmp_path_factory.mktemp("room"))


def completed(stock: Stock, *words: str) -> set[str]:
    """What a real bash offers for the last word."""
    script = f"""
        source <("{THREADLOOM[0]}" completion bash)
        compopt() {{ :; }}  # works only while a line is edited
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _threadloom; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    variables = environment(stock.room)
    variables["PATH"] = f"{Path(THREADLOOM[0]).parent}{os.pathsep}{variables['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script, "bash", "threadloom", *words], env=variables, capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return {it for it in done.stdout.splitlines() if it}


def test_bash_completes_commands_flags_choices_and_saved_names(stock: Stock) -> None:
    assert completed(stock, "e") == {"exec"}
    assert {"chat", "exec", "resume", "fork", "session", "doctor", "app-server"} <= completed(stock, "")
    assert completed(stock, "exec", "--out") == {"--output-schema"}
    assert completed(stock, "exec", "--sandbox", "") == {"read-only", "workspace-write", "danger-full-access"}
    assert completed(stock, "session", "d") == {"delete"}
    assert completed(stock, "completion", "") == {"bash", "zsh", "fish", "-h", "--help"}
    assert completed(stock, "fork", "rea") == {"ready"}
    assert completed(stock, "agents", "rea") == {"ready"}
    assert completed(stock, "fork", "-C", "") == set()  # which bash completes with folders


def test_bash_completes_names_with_spaces_as_they_are_typed(stock: Stock) -> None:
    assert process(stock.room, "session", "save", "a fine point", stock.root).returncode == 0
    assert completed(stock, "fork", "a") == {"a\\ fine\\ point"}
    assert completed(stock, "fork", "a\\ f") == {"a\\ fine\\ point"}
    assert completed(stock, "session", "save", "'a f") == {"a fine point"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_get_every_command(shell: str, tmp_path: Path) -> None:
    script = process(tmp_path, "completion", shell).stdout
    for command in ("exec", "chat", "session", "unarchive", "--output-schema" if shell == "zsh" else "output-schema"):
        assert command in script
