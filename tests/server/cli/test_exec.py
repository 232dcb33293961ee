"""`threadloom exec`: the last message on stdout, progress on stderr, and an exit code that says how it ended."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

from tests.server.cli.stock import TIMEOUT, process
from tests.support.processes import THREADLOOM, environment

from threadloom.agent.tools.asking import NOBODY

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}


def test_the_last_message_is_all_that_is_on_stdout(tmp_path: Path) -> None:
    done = process(tmp_path, "exec", "think\nrun echo from the shell\nspawn echo below\nwait for agents\necho Done.")
    assert done.returncode == 0, done
    assert done.stdout.startswith("Done.")
    assert "Rehearsing" not in done.stdout
    for progress in ("thread ", "echo from the shell", "spawnAgent ", "[call_2] running"):
        assert progress in done.stderr, done.stderr


def test_the_prompt_comes_from_stdin_with_a_dash_and_without_any(tmp_path: Path) -> None:
    for words in (["-"], []):
        done = process(tmp_path, "exec", *words, stdin="echo read from stdin\n")
        assert (done.returncode, done.stdout) == (0, "read from stdin\n"), done
    empty = process(tmp_path, "exec", "-", stdin="  \n")
    assert empty.returncode == 2
    assert "empty" in empty.stderr
    blank = process(tmp_path, "exec", "")
    assert (blank.returncode, blank.stdout) == (2, ""), blank
    assert "the prompt is empty" in blank.stderr


def test_json_is_every_event_and_nothing_else(tmp_path: Path) -> None:
    done = process(tmp_path, "exec", "--json", "echo one two")
    assert done.returncode == 0, done
    events = [json.loads(line) for line in done.stdout.splitlines()]
    methods = [it["method"] for it in events]
    assert methods[-1] == "turn/completed"
    assert "item/agentMessage/delta" in methods
    said = [it["params"]["item"] for it in events if it["method"] == "item/completed"]
    assert [it["text"] for it in said if it["type"] == "agentMessage"] == ["one two"]


def test_an_output_schema_is_kept_to_and_a_bad_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8-sig")
    done = process(tmp_path, "exec", "--output-schema", "schema.json", "a title, please")
    assert done.returncode == 0, done
    assert set(json.loads(done.stdout)) == {"title"}
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "list.json").write_text("[1]")
    for name in ("bad.json", "nowhere.json", "list.json"):
        done = process(tmp_path, "exec", "--output-schema", name, "a title, please")
        assert (done.returncode, done.stdout) == (2, ""), done
        assert f"--output-schema {name}" in done.stderr


def test_a_failed_turn_ends_with_1_and_says_why(tmp_path: Path) -> None:
    done = process(tmp_path, "exec", "fail The provider is on strike")
    assert (done.returncode, done.stdout) == (1, ""), done
    assert "The provider is on strike" in done.stderr


def test_the_folder_and_the_sandbox_are_what_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    done = process(tmp_path, "exec", "-C", "below", "-s", "read-only", "patch here.txt with words")
    assert done.returncode == 0, done
    assert f"{tmp_path}/below" in done.stderr
    assert not (tmp_path / "below" / "here.txt").exists()
    done = process(tmp_path, "exec", "-C", "below", "-s", "workspace-write", "patch here.txt with words")
    assert (tmp_path / "below" / "here.txt").read_text() == "words\n", done
    nowhere = process(tmp_path, "exec", "-C", "nowhere", "echo x")
    assert (nowhere.returncode, nowhere.stdout) == (2, ""), nowhere


def test_what_nobody_can_approve_is_declined_and_told(tmp_path: Path) -> None:
    done = process(tmp_path, "exec", "--approval", "on-request", "run outside the sandbox touch outside.txt")
    assert done.returncode == 0, done
    assert "declined, for nobody is here to ask" in done.stderr
    assert not (tmp_path / "outside.txt").exists()


def test_what_nobody_can_answer_is_told(tmp_path: Path) -> None:
    done = process(tmp_path, "exec", "--approval", "on-request", "ask Which colour? red | green")
    assert done.returncode == 0, done
    assert "not answered, for nobody is here to ask: Which colour?" in done.stderr
    assert NOBODY in done.stdout


def test_ctrl_c_interrupts_and_ends_with_130(tmp_path: Path) -> None:
    words = [*THREADLOOM, "exec", "--json", "echo before\nwait"]
    running = subprocess.Popen(
        words, env=environment(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    for line in running.stdout:
        if json.loads(line)["method"] == "item/agentMessage/delta":
            break
    running.send_signal(signal.SIGINT)
    rest, said = running.communicate(timeout=TIMEOUT)
    assert running.returncode == 130, said
    assert json.loads(rest.splitlines()[-1])["params"]["turn"]["status"] == "interrupted"
