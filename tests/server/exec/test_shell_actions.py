"""What people are told that a command does."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadloom.exec.shell.actions import actions
from threadloom.exec.shell.line import shell_line

CWD = "/home/me/project"


def read(command: str, path: str, name: str | None = None) -> dict[str, Any]:
    path = path if path.startswith("/") else f"{CWD}/{path}"
    return {"type": "read", "command": command, "name": name or path.rpartition("/")[2], "path": path}


def listed(command: str, path: str | None = None) -> dict[str, Any]:
    return {"type": "listFiles", "command": command, "path": path}


def search(command: str, query: str | None, path: str | None = None) -> dict[str, Any]:
    return {"type": "search", "command": command, "query": query, "path": path}


def unknown(command: str) -> dict[str, Any]:
    return {"type": "unknown", "command": command}


# As Codex tells it, but that it does not understand redirects, patterns and several files, and says `unknown`.
TOLD = [
    ("cat a.txt", [read("cat a.txt", "a.txt")]),
    ("cat src/b.py", [read("cat src/b.py", "src/b.py")]),
    ("cat -n a.txt", [read("cat -n a.txt", "a.txt")]),
    ("cat 'a b.txt'", [read("cat 'a b.txt'", "a b.txt")]),
    ("cat /etc/hostname", [read("cat /etc/hostname", "/etc/hostname")]),
    ("cat src/../a.txt", [read("cat src/../a.txt", "a.txt")]),
    ("cat ./a.txt", [read("cat ./a.txt", "a.txt")]),
    ("cat src/b.py | head -n 1", [read("cat src/b.py", "src/b.py")]),
    ("cat a.txt | wc -l", [read("cat a.txt", "a.txt")]),
    ("cat a b", [read("cat a b", "a"), read("cat a b", "b")]),
    ("cat a.txt 2>/dev/null", [read("cat a.txt", "a.txt")]),
    ("cat a.txt || true", [read("cat a.txt", "a.txt")]),
    ("cat a.txt | grep foo", [read("cat a.txt", "a.txt"), search("grep foo", "foo")]),
    ("sed -n '1,2p' src/b.py", [read("sed -n '1,2p' src/b.py", "src/b.py")]),
    ("sed -n 1p a", [read("sed -n 1p a", "a")]),
    ("head -n 2 a", [read("head -n 2 a", "a")]),
    ("head -5 a", [read("head -5 a", "a")]),
    ("tail -n +1 a", [read("tail -n +1 a", "a")]),
    ("nl -ba a | sed -n '1,2p'", [read("nl -ba a", "a")]),
    ("bat a", [read("bat a", "a")]),
    ("less a", [read("less a", "a")]),
    ("awk '{print $1}' a", [read("awk '{print $1}' a", "a")]),
    ("awk 'NR>1' a", [read("awk 'NR>1' a", "a")]),
    ("/bin/cat a", [read("/bin/cat a", "a")]),
    ("ls", [listed("ls")]),
    ("ls -la", [listed("ls -la")]),
    ("ls src/deep", [listed("ls src/deep", "deep")]),
    ("ls src/", [listed("ls src/", "src")]),
    ("ls app/src", [listed("ls app/src", "app")]),
    ("ls /", [listed("ls /", "/")]),
    ("ls --color=auto src", [listed("ls '--color=auto' src", "src")]),
    ("ls -I x src", [listed("ls -I x src", "src")]),
    ("ls *.py", [listed("ls '*.py'", "*.py")]),
    ("ls -la src 2>&1 | head", [listed("ls -la src", "src")]),
    ("ls | grep a", [listed("ls"), search("grep a", "a")]),
    ("find src -type f", [listed("find src -type f", "src")]),
    ("find . -maxdepth 1", [listed("find . -maxdepth 1", ".")]),
    ("find", [listed("find")]),
    ("find . -name '*.py'", [search("find . -name '*.py'", "*.py", ".")]),
    ("find -iname x", [search("find -iname x", "x")]),
    ("rg --files", [listed("rg --files")]),
    ("rg --files src | head -n 5", [listed("rg --files src", "src")]),
    ("rg --files -g '*.py' src/deep", [listed("rg --files -g '*.py' src/deep", "deep")]),
    ("rg --files | rg foo", [listed("rg --files"), search("rg foo", "foo")]),
    ("git ls-files", [listed("git ls-files")]),
    ("git ls-files src", [listed("git ls-files src", "src")]),
    ("tree -L 2 src", [listed("tree -L 2 src", "src")]),
    ("fd", [listed("fd")]),
    ("fd py src", [search("fd py src", "py", "src")]),
    ("rg foo", [search("rg foo", "foo")]),
    ("rg", [search("rg", None)]),
    ("rg -n foo src", [search("rg -n foo src", "foo", "src")]),
    ("rg -n 'foo|bar' src/deep -g '*.py'", [search("rg -n 'foo|bar' src/deep -g '*.py'", "foo|bar", "deep")]),
    ("rg -A 3 -e foo src", [search("rg -A 3 -e foo src", "foo", "src")]),
    ("rg foo | head -n 20", [search("rg foo", "foo")]),
    ("grep -rn foo .", [search("grep -rn foo .", "foo", ".")]),
    ("grep foo src/b.py a.txt", [search("grep foo src/b.py a.txt", "foo", "b.py")]),
    ("grep -rn foo src --include='*.py'", [search("grep -rn foo src '--include=*.py'", "foo", "src")]),
    ("grep foo a | sort | uniq -c", [search("grep foo a", "foo", "a")]),
    ("git grep -n foo -- src", [search("git grep -n foo -- src", "foo", "src")]),
    ("git --no-pager grep foo", [search("git --no-pager grep foo", "foo")]),
    ("cat a && ls", [read("cat a", "a"), listed("ls")]),
    ("cat a; rg foo", [read("cat a", "a"), search("rg foo", "foo")]),
    ("echo hi && cat a", [read("cat a", "a")]),
    ("cd src && cat b.py", [read("cat b.py", "src/b.py")]),
    ("cd src; cd deep; cat c.py", [read("cat c.py", "src/deep/c.py")]),
    ("cd /etc && cat hostname", [read("cat hostname", "/etc/hostname")]),
    ("cd src && ls", [listed("ls")]),
]

UNKNOWN = """
echo hi
pwd
cd src
cd && cat a
cd ~/x && cat a
cd - && cat a
git status
git diff | head -n 20
python3 x.py
python3 x.py && cat a
cat a && make
cat
cat *.txt
cat "$HOME/x"
cat ~/x
cat a > b
cat a &
cat < a
FOO=1 cat a
./cat a
wc -l a
sort a
sed -n '/foo/p' a
sed -i s/a/b/ a
sed -n 1p -i a
awk '{system("x")}' a
awk '{print > "x"}' a
awk -f prog a
find . -name x -delete
find . -exec rm {} +
rg --pre ./x foo
rg -l foo | xargs sed -i s/foo/bar/
grep x a | sort -o b
ls | tee x
bash -lc 'cat a'
if true; then cat a; fi
""".strip().splitlines()


@pytest.mark.parametrize(("script", "told"), TOLD)
def test_what_a_command_is_about(script: str, told: list[dict[str, Any]]) -> None:
    assert [it.model_dump() for it in actions(["/bin/bash", "-lc", script], CWD)] == told


@pytest.mark.parametrize("script", UNKNOWN)
def test_a_script_that_is_not_understood_is_told_whole(script: str) -> None:
    assert [it.model_dump() for it in actions(["bash", "-lc", script], CWD)] == [unknown(script)]


def test_a_command_without_a_shell_is_told_as_a_line() -> None:
    assert [it.model_dump() for it in actions(["cat", "a b"], CWD)] == [read("cat 'a b'", "a b")]
    assert [it.model_dump() for it in actions(["make", "a b"], CWD)] == [unknown("make 'a b'")]


@given(st.lists(st.text(max_size=12), min_size=1, max_size=6))
def test_every_command_is_about_something(argv: list[str]) -> None:
    assert actions(argv, CWD)
    assert actions(["bash", "-lc", " ".join(argv)], CWD)


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["/bin/bash", "-lc", "cat a.txt"], "/bin/bash -lc 'cat a.txt'"),
        (["/bin/bash", "-lc", "sed -n '1,2p' x"], "/bin/bash -lc \"sed -n '1,2p' x\""),
        (["/bin/bash", "-lc", "grep \"a\" 'b'"], '/bin/bash -lc "grep \\"a\\" \'b\'"'),
        (["/bin/bash", "-lc", "printf 'a\\xffb'"], "/bin/bash -lc \"printf 'a\\\\xffb'\""),
        (["/bin/bash", "-lc", 'cat "$HOME/x"'], "/bin/bash -lc 'cat \"$HOME/x\"'"),
        (["/bin/bash", "-lc", "nosuch"], "/bin/bash -lc nosuch"),
        (["ls", "--color=auto", ""], "ls '--color=auto' ''"),
    ],
)
def test_a_line_reads_as_in_codex(argv: list[str], line: str) -> None:
    assert shell_line(argv) == line


@given(st.lists(st.text(), max_size=5))
def test_a_line_comes_apart_into_its_words(argv: list[str]) -> None:
    assert shlex.split(shell_line(argv)) == argv
