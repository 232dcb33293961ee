"""Instructions beside the work: which files, in which order, and how much of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from threadloom.threads.context.documents import MOST, Document, Library, Places, find, read

# Files by their paths, the directory that work is done in, and what is read, in order.
TREES = [
    pytest.param({}, "work", [], id="none"),
    pytest.param({"work/AGENTS.md": "one"}, "work", ["work/AGENTS.md"], id="in the directory itself"),
    pytest.param({"AGENTS.md": "one"}, "work", [], id="above, but in no project"),
    pytest.param(
        {".git/HEAD": "", "AGENTS.md": "root", "a/AGENTS.md": "a", "a/b/AGENTS.md": "b", "a/c/AGENTS.md": "c"},
        "a/b",
        ["AGENTS.md", "a/AGENTS.md", "a/b/AGENTS.md"],
        id="from the root down, and none beside the way",
    ),
    pytest.param({".git/HEAD": "", "AGENTS.md": "root"}, "a/b", ["AGENTS.md"], id="folders with none are passed"),
    pytest.param(
        {".git/HEAD": "", "AGENTS.md": "outer", "a/.git": "gitdir: x", "a/AGENTS.md": "inner"},
        "a/b",
        ["a/AGENTS.md"],
        id="a worktree is a project of its own",
    ),
    pytest.param(
        {"work/AGENTS.md": "all", "work/AGENTS.override.md": "mine"},
        "work",
        ["work/AGENTS.override.md"],
        id="an override goes first",
    ),
    pytest.param({"work/AGENTS.md": " \n\t"}, "work", [], id="a blank one says nothing"),
    pytest.param(
        {"work/AGENTS.md": "all", "work/AGENTS.override.md": ""}, "work", [], id="a blank override silences the other"
    ),
    pytest.param({"work/CLAUDE.md": "other"}, "work", ["work/CLAUDE.md"], id="another name where it is configured"),
    pytest.param(
        {"work/AGENTS.md": "ours", "work/CLAUDE.md": "other"}, "work", ["work/AGENTS.md"], id="that comes second"
    ),
    pytest.param({"work/AGENTS.md/x": "a folder"}, "work", [], id="a folder is no file"),
    pytest.param(
        {"home/AGENTS.md": "the user's", "work/AGENTS.md": "ours"},
        "work",
        ["home/AGENTS.md", "work/AGENTS.md"],
        id="the user's own come first",
    ),
    pytest.param(
        {"home/AGENTS.md": "the user's", "other/AGENTS.md": "of another home"},
        "work",
        ["home/AGENTS.md"],
        id="the first home that has some",
    ),
    pytest.param(
        {"home/AGENTS.override.md": " ", "home/AGENTS.md": "", "other/AGENTS.md": "of another home"},
        "work",
        ["other/AGENTS.md"],
        id="a home with blank ones has none",
    ),
]


def planted(room: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = room / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def looked(room: Path, cwd: str, **places: object) -> list[Document]:
    (room / cwd).mkdir(parents=True, exist_ok=True)
    given = {"homes": (room / "home", room / "other"), "fallbacks": ("CLAUDE.md",)} | places
    where = Places(**given)  # type: ignore[arg-type]
    return read(find(str(room / cwd), where), where)


@pytest.mark.parametrize(("files", "cwd", "sources"), TREES)
def test_instructions_are_found(tmp_path: Path, files: dict[str, str], cwd: str, sources: list[str]) -> None:
    planted(tmp_path, files)
    found = looked(tmp_path, cwd)
    assert [os.path.relpath(it.path, tmp_path) for it in found] == sources
    assert [it.text for it in found] == [files[it].strip() for it in sources]
    assert all(os.path.isabs(it.path) and it.cut == 0 for it in found)


def test_a_project_has_so_much_and_no_more(tmp_path: Path) -> None:
    planted(tmp_path, {".git/HEAD": "", "home/AGENTS.md": "h" * 100, "AGENTS.md": "a" * 60, "a/AGENTS.md": "b" * 60})
    planted(tmp_path, {"a/b/AGENTS.md": "c" * 5})
    found = looked(tmp_path, "a/b", max_bytes=100)
    assert [(it.text, it.cut) for it in found] == [("h" * 100, 0), ("a" * 60, 0), ("b" * 40, 20), ("", 5)]


def test_the_user_s_own_have_a_limit_too(tmp_path: Path) -> None:
    planted(tmp_path, {"home/AGENTS.md": "h" * (MOST + 7)})
    [found] = looked(tmp_path, "work")
    assert (len(found.text), found.cut) == (MOST, 7)


def test_none_of_a_project_are_read_where_none_are_wanted(tmp_path: Path) -> None:
    planted(tmp_path, {"home/AGENTS.md": "mine", "work/AGENTS.md": "ours"})
    assert [it.text for it in looked(tmp_path, "work", max_bytes=0)] == ["mine"]


def test_a_cut_is_between_two_characters(tmp_path: Path) -> None:
    planted(tmp_path, {"work/AGENTS.md": "ééé"})
    [found] = looked(tmp_path, "work", max_bytes=3)
    assert (found.text, found.cut) == ("é", 3)


def test_a_mark_that_editors_put_first_is_no_part_of_it(tmp_path: Path) -> None:
    planted(tmp_path, {"work/AGENTS.md": "\ufeffbe careful"})
    [found] = looked(tmp_path, "work")
    assert found.text == "be careful"


def test_what_is_no_text_does_no_harm(tmp_path: Path) -> None:
    planted(tmp_path, {"work/AGENTS.md": ""})
    (tmp_path / "work/AGENTS.md").write_bytes(b"be \xff\xfe careful")
    [found] = looked(tmp_path, "work")
    assert found.text == "be \ufffd\ufffd careful"


def test_a_pipe_or_a_file_that_may_not_be_read_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    os.mkfifo(tmp_path / "work/AGENTS.override.md")
    planted(tmp_path, {"work/AGENTS.md": "ours"})
    assert [it.text for it in looked(tmp_path, "work")] == ["ours"]

    def refuse(*args: object, **options: object) -> None:
        raise PermissionError

    monkeypatch.setattr("threadloom.threads.context.documents.open", refuse, raising=False)
    assert looked(tmp_path, "work") == []


def test_a_project_may_be_known_by_something_else(tmp_path: Path) -> None:
    planted(tmp_path, {".hg/x": "", "AGENTS.md": "root", "a/AGENTS.md": "a"})
    assert [it.text for it in looked(tmp_path, "a")] == ["a"]
    assert [it.text for it in looked(tmp_path, "a", markers=(".git", ".hg"))] == ["root", "a"]


def test_files_are_read_again_only_when_they_have_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []

    def counted(*args: object) -> list[Document]:
        reads.append(1)
        return read(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("threadloom.threads.context.documents.read", counted)
    planted(tmp_path, {"AGENTS.md": "one", "a/AGENTS.md": "other"})
    library, cwd, places = Library(), str(tmp_path), Places()
    assert [it.text for it in library.look(cwd, places)] == ["one"]
    assert [it.text for it in library.look(cwd, places)] == ["one"]
    assert len(reads) == 1
    planted(tmp_path, {"AGENTS.md": "two or three"})
    assert [it.text for it in library.known(cwd, places)] == ["one"]
    assert [it.text for it in library.look(cwd, places)] == ["two or three"]
    assert len(reads) == 2
    assert [it.text for it in library.known(str(tmp_path / "a"), places)] == ["other"]
    assert len(reads) == 3
