"""OpenAI's SDK: servers that are closed, killed and opened again, and much going on at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from openai_codex import Codex, CodexConfig, InvalidRequestError, TransportClosedError
from openai_codex.types import TurnStatus
from tests.clients.sdk import LEAVES_PIPES, Bench, streamed
from tests.support.processes import THREADLOOM, environment

pytestmark = LEAVES_PIPES


def test_the_executable_itself_serves_with_nothing_in_between(room: Path) -> None:
    with Codex(CodexConfig(codex_bin=THREADLOOM[0], env=environment(room), cwd=str(room))) as codex:
        assert codex.thread_start().run("echo Good morning").final_response == "Good morning"


def test_what_was_said_is_there_when_the_server_is_opened_again(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        thread.run("echo before")
        thread.set_name("Kept")
    with bench.codex() as codex:
        again = codex.thread_resume(thread.id)
        assert again.run("echo after").final_response == "after"
        kept = again.read(include_turns=True).thread
    assert kept.name == "Kept"
    answers = [item.root.text for turn in kept.turns for item in turn.items if item.root.type == "agentMessage"]
    assert answers == ["before", "after"]
    assert bench.recorded.codes() == [0, 0]


def test_a_close_in_the_middle_of_a_turn_is_prompt_and_keeps_its_text(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        events = []
        for event in thread.turn("say 9 words\nwait").stream():
            events.append(event)
            if len(streamed(events).split()) == 9:
                break
    assert bench.recorded.codes() == [0]  # after two seconds the SDK would have killed it
    with bench.codex() as codex:
        (turn,) = codex.thread_resume(thread.id).read(include_turns=True).thread.turns
    assert turn.status is TurnStatus.interrupted
    assert [item.root.text for item in turn.items if item.root.type == "agentMessage"] == [streamed(events)]


def test_a_server_that_was_killed_ends_every_wait_and_has_lost_nothing_that_was_told(bench: Bench) -> None:
    codex = bench.codex()
    try:
        thread = codex.thread_start()
        thread.run("echo safe")
        turn = thread.turn("wait")
        bench.recorded.kill()
        with pytest.raises(TransportClosedError):
            turn.run()
    finally:
        codex.close()
    with bench.codex() as codex:
        again = codex.thread_resume(thread.id)
        turns = again.read(include_turns=True).thread.turns
        assert [it.status for it in turns] == [TurnStatus.completed, TurnStatus.interrupted]
        assert again.run("echo alive").final_response == "alive"


def test_many_threads_of_one_program_run_their_turns_at_once(bench: Bench) -> None:
    with bench.codex() as codex, ThreadPoolExecutor(8) as pool:
        threads = [codex.thread_start() for _ in range(8)]
        waiting = [thread.turn("wait") for thread in threads]  # all of them are under way
        results = [pool.submit(turn.run) for turn in waiting]
        for number, turn in enumerate(waiting):
            turn.steer(f"echo answer {number}")
        assert [it.result(30).final_response for it in results] == [f"answer {number}" for number in range(8)]


def test_two_programs_share_a_home_but_not_a_thread(bench: Bench) -> None:
    with bench.codex() as one, bench.codex() as other:
        thread = one.thread_start()
        thread.run("echo mine")
        assert [it.id for it in other.thread_list().data] == [thread.id]
        words = rf"\bthread {thread.id} already has an active writer\b.*in use by another server \(pid \d+\)"
        with pytest.raises(InvalidRequestError, match=words):
            other.thread_resume(thread.id)
        assert other.thread_start().run("echo my own").final_response == "my own"
        assert thread.run("echo still mine").final_response == "still mine"


def test_words_for_config_come_through(bench: Bench) -> None:
    with bench.codex('approval_policy="never"', 'sandbox_mode="danger-full-access"') as codex:
        started = codex._client.thread_start({})
    assert started.approval_policy.root.value == "never"
    assert started.sandbox.root.type == "dangerFullAccess"


def test_where_only_codex_home_is_set_our_files_lie_in_a_folder_of_their_own_there(bench: Bench) -> None:
    codex_home = bench.room / "codex"
    codex_home.mkdir()
    (codex_home / "config.toml").write_text('approval_policy = "never"\n')
    config = bench.config()
    assert config.env is not None
    del config.env["THREADLOOM_HOME"]
    config.env["CODEX_HOME"] = str(codex_home)
    with Codex(config) as codex:
        started = codex._client.thread_start({})
        assert codex.thread_resume(started.thread.id).run("echo hello").final_response == "hello"
    assert started.approval_policy.root.value == "never"
    assert {it.name for it in codex_home.iterdir()} == {"config.toml", "threadloom"}
