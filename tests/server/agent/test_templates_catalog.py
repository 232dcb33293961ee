"""Where templates are looked for, which one holds, and what becomes of those that are broken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from threadloom.agent.templates import catalog as module
from threadloom.agent.templates.base import Fault, UnknownTemplate
from threadloom.agent.templates.catalog import BUILT_IN, MAX_BYTES, MAX_FILES, Catalog, Shelf
from threadloom.agent.templates.listing import listed

NAMES = ["default", "explorer", "linter_fixer", "mathematician", "orchestrator", "reviewer", "tester", "worker"]


class Land:
    """A user's home, and a repository with a folder deep inside."""

    def __init__(self, top: Path) -> None:
        self.home, self.repo = top / "home", top / "repo"
        self.deep = self.repo / "a" / "b"
        self.deep.mkdir(parents=True)
        (self.repo / ".git").mkdir()

    def write(self, folder: Path, name: str, description: str = "d", more: str = "") -> Path:
        agents = folder / "agents" if folder == self.home else folder / ".threadloom" / "agents"
        agents.mkdir(parents=True, exist_ok=True)
        file = agents / f"{name}.md"
        file.write_text(f"---\ndescription: {description}\n---\n{more}")
        return file

    def catalog(self, cwd: Path | None = None, shelf: Shelf | None = None) -> Catalog:
        return Catalog(self.home, cwd or self.deep, shelf)


@pytest.fixture
def land(tmp_path: Path) -> Land:
    return Land(tmp_path)


def test_the_built_in_ones_are_there_and_whole(land: Land) -> None:
    catalog = land.catalog()
    assert [it.name for it in catalog.all()] == NAMES
    assert catalog.faults() == []
    assert {it.name for it in catalog.all() if it.read_only} == {"explorer", "reviewer"}
    for template in catalog.all():
        assert template.source == "built-in"
        assert template.prompt
        # They run on whatever the parent runs on.
        assert (template.model, template.model_provider, template.reasoning_effort) == (None, None, None)


def test_the_nearest_one_holds(land: Land) -> None:
    lookups = []
    for folder in (None, land.home, land.repo, land.deep.parent, land.deep):
        if folder is not None:
            land.write(folder, "worker", f"of {folder.name}")
        template = land.catalog().get("worker")
        assert [it for it in land.catalog().all() if it.name == "worker"] == [template]
        lookups.append((template.source, template.description if folder else None))
    assert lookups == [
        ("built-in", None),
        ("user", "of home"),
        ("project", "of repo"),
        ("project", "of a"),
        ("project", "of b"),
    ]


def test_what_lies_above_the_repository_or_beside_it_is_not_the_projects(land: Land) -> None:
    land.write(land.repo.parent, "above")
    land.write(land.repo / "beside", "beside")
    land.write(land.repo, "top")
    assert [it.name for it in land.catalog().all() if it.source == "project"] == ["top"]
    assert land.catalog().faults() == []


def test_outside_a_repository_only_the_directory_itself_counts(land: Land, tmp_path: Path) -> None:
    loose = tmp_path / "loose" / "deep"
    loose.mkdir(parents=True)
    land.write(loose, "here")
    land.write(loose.parent, "above")
    assert [it.name for it in land.catalog(loose).all() if it.source == "project"] == ["here"]


def test_a_home_inside_the_project_is_the_users(land: Land) -> None:
    land.write(land.repo, "mine", more="x")
    catalog = Catalog(land.repo / ".threadloom", land.repo)
    assert [it.source for it in catalog.all() if it.name == "mine"] == ["user"]


def test_an_edit_holds_for_the_next_look(land: Land) -> None:
    catalog = land.catalog()
    file = land.write(land.repo, "worker", "one")
    assert catalog.get("worker").description == "one"
    stamp = file.stat()
    file.write_text(file.read_text().replace("one", "two"))  # as long as before, and as old
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert catalog.get("worker").description == "two"
    file.unlink()
    assert catalog.get("worker").source == "built-in"


def test_a_file_that_rests_is_read_once(land: Land, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf, parsed = Shelf(), []
    parse = module.parse
    monkeypatch.setattr(module, "parse", lambda name, *rest: (parsed.append(name), parse(name, *rest))[1])
    monkeypatch.setattr(module, "FRESH", -(10**18))  # as if every file were old
    land.write(land.repo, "mine")
    land.write(land.repo, "broken", "[")
    for _ in range(3):
        catalog = land.catalog(shelf=shelf)
        assert catalog.get("mine").description == "d"
        assert len(catalog.faults()) == 1
    assert sorted(parsed) == sorted([*NAMES, "mine", "broken"])
    land.write(land.repo, "mine", "longer")
    assert land.catalog(shelf=shelf).get("mine").description == "longer"


def test_only_the_one_that_is_asked_for_is_read(land: Land, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, parse = [], module.parse
    monkeypatch.setattr(module, "parse", lambda name, *rest: (parsed.append(name), parse(name, *rest))[1])
    land.write(land.repo, "other")
    land.write(land.deep, "worker", "''")
    assert land.catalog().get("worker").source == "built-in"
    assert parsed == ["worker", "worker"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../agents/mine", "/etc/passwd", ".hidden", "a\0b", "x" * 5000, "a\nb"]
)
def test_whatever_is_asked_for_no_other_place_is_read(land: Land, name: str) -> None:
    land.write(land.repo, "mine")
    land.write(land.repo, ".hidden")
    with pytest.raises(UnknownTemplate, match="Unknown agent_type"):
        land.catalog().get(name)


def test_an_unknown_one_is_told_which_there_are(land: Land) -> None:
    land.write(land.repo, "mine")
    with pytest.raises(UnknownTemplate) as caught:
        land.catalog().get("Worker")
    assert str(caught.value) == (
        "Unknown agent_type `Worker`. Available agent types: default, explorer, linter_fixer, mathematician, mine, "
        "orchestrator, reviewer, tester, worker."
    )


def test_a_broken_one_is_skipped_and_named(land: Land) -> None:
    broken = land.write(land.repo, "mine", "''")
    fault = Fault(str(broken), "`description` must be text")
    assert land.catalog().faults() == [fault]
    assert str(fault) == f"{broken}: skipped: `description` must be text"
    with pytest.raises(UnknownTemplate, match=r"Unknown agent_type `mine`.*mine\.md: skipped: `description` must be"):
        land.catalog().get("mine")


def test_a_broken_one_hides_nothing(land: Land) -> None:
    land.write(land.home, "mine", "of the user")
    land.write(land.deep, "mine", "''")
    assert land.catalog().get("mine").description == "of the user"
    assert len(land.catalog().faults()) == 1


def test_what_is_no_small_text_file_is_skipped(land: Land, tmp_path: Path) -> None:
    folder = land.write(land.repo, "good").parent
    (folder / "notes.txt").write_text("not a template")
    (folder / ".hidden.md").write_text("not a template")
    (folder / "folder.md").mkdir()
    os.mkfifo(folder / "pipe.md")
    (folder / "dangling.md").symlink_to("nowhere.md")
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "binary.md").write_bytes(b"---\ndescription: \xff\n---\n")
    land.write(land.repo, "huge", more="x" * MAX_BYTES)
    outside = tmp_path / "outside.md"
    outside.write_text("---\ndescription: d\n---\nsecret")
    (folder / "outside.md").symlink_to(outside)
    (folder / "inside.md").symlink_to("good.md")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    found = land.catalog().look()
    after = len(os.listdir("/proc/self/fd")) if before else 0
    assert after == before
    assert [it.name for it in found.templates if it.source == "project"] == ["good", "inside"]
    assert {Path(it.path).name: it.reason for it in found.faults} == {
        "folder.md": "it is not a regular file",
        "pipe.md": "it is not a regular file",
        "dangling.md": "it is not a regular file",
        "loop.md": "it is not a regular file",
        "binary.md": "it is not UTF-8",
        "huge.md": f"it is longer than {MAX_BYTES} bytes",
        "outside.md": "it leads out of the project",
    }


def test_the_users_own_links_may_lead_anywhere(land: Land, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.md").write_text("---\ndescription: kept elsewhere\n---\n")
    folder = land.write(land.home, "good").parent
    (folder / "linked.md").symlink_to(tmp_path / "dotfiles.md")
    assert land.catalog().get("linked").description == "kept elsewhere"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_named(land: Land) -> None:
    file = land.write(land.repo, "mine")
    file.chmod(0)
    assert land.catalog().faults() == [Fault(str(file), "Permission denied")]
    file.parent.chmod(0)
    try:
        assert land.catalog().faults() == [Fault(str(file.parent), "Permission denied")]
    finally:
        file.parent.chmod(0o700)


def test_a_folder_may_hold_only_so_many(land: Land) -> None:
    for at in range(MAX_FILES + 2):
        folder = land.write(land.repo, f"t{at:04}").parent
    found = land.catalog().look()
    assert len([it for it in found.templates if it.source == "project"]) == MAX_FILES
    assert found.faults == (
        Fault(str(folder), f"only the first {MAX_FILES} of its {MAX_FILES + 2} templates are read"),
    )


def test_a_place_that_is_no_folder_is_none(land: Land) -> None:
    land.home.mkdir()
    (land.home / "agents").write_text("")
    (land.repo / ".threadloom").write_text("")
    assert land.catalog().faults() == []


def test_every_built_in_file_is_a_template() -> None:
    assert sorted(it.stem for it in BUILT_IN.iterdir()) == NAMES


# ── list_agents: sentence of the contract → case ──────────────────────────────────────────────────────────────────────

ROLE = """\
---
description: Grows things.
model: m
reasoning_effort: high
allow_list: [shell]
deny_list: [apply_patch]
agent_names:
  - {name: rose, description: Grows roses., model: m2, reasoning_effort: low}
---
Grow it.
<!-- agent_name: rose -->
Grow a rose.
"""


@pytest.fixture
def garden(land: Land) -> Catalog:
    land.write(land.repo, "gardener").write_text(ROLE)
    return land.catalog()


def test_by_default_the_catalog_of_roles(garden: Catalog) -> None:
    """By default: the catalog of roles (agent_type, description, allow_list, deny_list, optional agent_names)."""
    roles = {it["agent_type"]: it for it in listed(garden)}
    assert sorted(roles) == sorted([*NAMES, "gardener"])
    assert roles["gardener"] == {
        "agent_type": "gardener",
        "description": "Grows things.",
        "allow_list": ["shell"],
        "deny_list": ["apply_patch"],
        "agent_names": [{"name": "rose", "description": "Grows roses."}],
    }
    worker = roles["worker"]
    assert worker.keys() == {"agent_type", "description", "allow_list", "deny_list"}
    assert (worker["allow_list"], worker["deny_list"]) == (None, [])


def test_an_agent_type_filters(garden: Catalog) -> None:
    """It takes an `agent_type` filter."""
    assert [it["agent_type"] for it in listed(garden, "gardener")] == ["gardener"]
    with pytest.raises(UnknownTemplate, match=r"Unknown agent_type `nobody`\. Available agent types: default, "):
        listed(garden, "nobody")


def test_expanded_adds_models_efforts_and_prompts(garden: Catalog) -> None:
    """expanded=true adds model, reasoning_effort, default_prompt; for agent_names model, reasoning_effort, prompt."""
    [plain], [role] = listed(garden, "gardener"), listed(garden, "gardener", expanded=True)
    assert {key: role[key] for key in role.keys() - plain.keys()} == {
        "model": "m",
        "reasoning_effort": "high",
        "default_prompt": "Grow it.",
    }
    assert role["agent_names"] == [
        {
            "name": "rose",
            "description": "Grows roses.",
            "model": "m2",
            "reasoning_effort": "low",
            "prompt": "Grow a rose.",
        }
    ]
