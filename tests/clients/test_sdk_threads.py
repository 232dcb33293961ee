"""OpenAI's SDK: threads begun, found again, forked, named and put away."""

from __future__ import annotations

import pytest
from openai_codex import ApprovalMode, Codex, InvalidRequestError, Sandbox, Thread
from openai_codex.types import SortDirection, ThreadSortKey
from tests.clients.sdk import LEAVES_PIPES, Bench

pytestmark = LEAVES_PIPES


def said(thread: Thread) -> list[str]:
    """What a person said in a thread, turn by turn."""
    turns = thread.read(include_turns=True).thread.turns
    return [item.root.content[0].root.text for turn in turns for item in turn.items if item.root.type == "userMessage"]


def test_the_handshake_names_a_version_that_the_sdk_takes(bench: Bench) -> None:
    with bench.codex() as codex:
        assert codex.metadata.serverInfo is not None
        assert codex.metadata.serverInfo.version is not None
        assert codex.metadata.serverInfo.version.startswith("0.166.0 ")
        assert "(threadloom " in (codex.metadata.userAgent or "")
        assert (codex.metadata.platformFamily, codex.metadata.platformOs) == ("unix", "linux")


def test_models_are_listed_and_one_is_the_default(bench: Bench) -> None:
    with bench.codex() as codex:
        models = codex.models(include_hidden=True).data
    assert [model.is_default for model in models].count(True) == 1
    assert "rehearsal" in [model.id for model in models]
    assert all(model.supported_reasoning_efforts and model.display_name and model.description for model in models)


def test_a_thread_starts_with_the_settings_it_was_given(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start(
            approval_mode=ApprovalMode.deny_all,
            cwd=str(bench.room),
            model="rehearsal",
            sandbox=Sandbox.read_only,
            service_name="tests",
            developer_instructions="Be brief.",
        )
        # The SDK keeps the id alone; what the rest was, a resume says again.
        resumed = codex._client.thread_resume(thread.id)
    assert (resumed.thread.id, resumed.model, resumed.model_provider) == (thread.id, "rehearsal", "rehearsal")
    assert resumed.cwd.root == str(bench.room)
    assert resumed.approval_policy.root.value == "never"
    assert resumed.sandbox.root.type == "readOnly"


def test_a_thread_is_resumed_in_the_same_server_and_goes_on(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        thread.run("echo one")
        again = codex.thread_resume(thread.id, include_turns=True)
        assert again.id == thread.id
        again.run("echo two")
        assert said(again) == said(thread) == ["echo one", "echo two"]


def test_a_fork_has_the_past_of_its_source_and_a_future_of_its_own(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        thread.run("echo one")
        fork = codex.thread_fork(thread.id, include_turns=False)
        assert fork.id != thread.id
        assert fork.read().thread.forked_from_id == thread.id
        assert fork.run("echo here").final_response == "here"
        assert thread.run("echo there").final_response == "there"
        assert said(fork) == ["echo one", "echo here"]
        assert said(thread) == ["echo one", "echo there"]


def test_an_ephemeral_fork_leaves_nothing(bench: Bench) -> None:
    with bench.codex() as codex:
        thread = codex.thread_start()
        thread.run("echo one")
        fork = codex.thread_fork(thread.id, ephemeral=True)
        assert fork.run("echo nobody hears this").final_response == "nobody hears this"
        assert [it.id for it in codex.thread_list().data] == [thread.id]
    with bench.codex() as codex, pytest.raises(InvalidRequestError):
        codex.thread_resume(fork.id)


def test_an_archived_thread_is_out_of_the_list_until_it_is_brought_back(bench: Bench) -> None:
    with bench.codex() as codex:
        kept, put_away = (codex.thread_start() for _ in range(2))
        for thread in (kept, put_away):
            thread.run("echo hello")
        codex.thread_archive(put_away.id)
        assert listed(codex) == {kept.id}
        assert listed(codex, archived=True) == {put_away.id}
        with pytest.raises(InvalidRequestError, match="archived"):
            codex.thread_resume(put_away.id)
        back = codex.thread_unarchive(put_away.id)
        assert back.id == put_away.id
        assert listed(codex) == {kept.id, put_away.id}
        assert codex.thread_resume(back.id).run("echo again").final_response == "again"


def listed(codex: Codex, **filters: object) -> set[str]:
    """The ids in a list of threads."""
    return {thread.id for thread in codex.thread_list(**filters).data}  # type: ignore[arg-type]


def test_a_name_is_kept_and_found(bench: Bench) -> None:
    with bench.codex() as codex:
        threads = [codex.thread_start() for _ in range(3)]
        for number, thread in enumerate(threads):
            thread.run(f"echo number {number}")
        threads[1].set_name("The harvest")
        with pytest.raises(InvalidRequestError, match="empty"):
            threads[2].set_name("  ")
        assert threads[1].read().thread.name == "The harvest"
        assert listed(codex, search_term="harvest") == {threads[1].id}
    with bench.codex() as codex:
        named = {it.id: it.name for it in codex.thread_list().data}
    assert named == {threads[0].id: None, threads[1].id: "The harvest", threads[2].id: None}


def test_a_list_comes_in_pages_in_either_order(bench: Bench) -> None:
    with bench.codex() as codex:
        made = [codex.thread_start() for _ in range(5)]
        for number, thread in enumerate(made):
            thread.run(f"echo number {number}")
        pages = []
        cursor = None
        for _ in range(3):
            page = codex.thread_list(limit=2, cursor=cursor, sort_key=ThreadSortKey.created_at)
            pages.append([it.id for it in page.data])
            cursor = page.next_cursor
        rising = codex.thread_list(sort_direction=SortDirection.asc).data
    ids = [thread.id for thread in made]
    assert pages == [ids[:2:-1], ids[2:0:-1], ids[:1]]
    assert cursor is None
    assert [it.id for it in rising] == ids
    assert [it.preview for it in rising] == [f"echo number {number}" for number in range(5)]


def test_a_list_can_be_of_one_folder_or_one_provider(bench: Bench) -> None:
    with bench.codex() as codex:
        here, there = codex.thread_start(), codex.thread_start(cwd=str(bench.room))
        for thread in (here, there):
            thread.run("echo hello")
        assert listed(codex, cwd=str(bench.room)) == {there.id}
        assert listed(codex, cwd=str(bench.work)) == {here.id}
        assert listed(codex, model_providers=["rehearsal"]) == {here.id, there.id}
        assert listed(codex, model_providers=["nobody"]) == set()


def test_what_cannot_be_is_refused_and_the_client_goes_on(bench: Bench) -> None:
    unknown = "01a00000-0000-7000-8000-000000000000"
    with bench.codex() as codex:
        with pytest.raises(InvalidRequestError):
            codex.thread_resume(unknown)
        with pytest.raises(InvalidRequestError):
            codex.thread_archive("not an id")
        with pytest.raises(InvalidRequestError):
            Thread(codex._client, unknown).run("echo hello")
        with pytest.raises(InvalidRequestError):
            codex.thread_list(cursor="nonsense")
        assert codex.thread_start().run("echo hello").final_response == "hello"
