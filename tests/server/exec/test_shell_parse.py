"""Scripts are taken apart as a shell would, or not at all."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.support.counts import count

from threadloom.exec.shell.parse import parse, plain, unwrap

# What bash makes of each of these is compared with what we make of it.
PLAIN = [
    "ls",
    "ls -la",
    "  ls\t-l  ",
    "ls;",
    "ls ; pwd",
    "ls\npwd",
    "\n\nls\n\n\npwd\n",
    "ls | wc -l",
    "ls |\n wc -l",
    "ls && pwd && id",
    "ls &&\n\n  pwd",
    "ls || pwd",
    "a && b || c",
    "a || b && c; d | e | f",
    "! grep x y",
    "! ! ls",
    "ls && ! grep x",
    "a | b && ! c | d",
    "echo !",
    "find . ! -name x",
    "echo !x y!",
    "echo 'a b' \"c d\"",
    "echo 'a\"b' \"c'd\"",
    "echo a'b'c\"d\"e",
    "echo '' \"\"",
    "echo a''b",
    "echo \\a \\\\ \\' \\\" \\  x",
    "echo a\\ b",
    'echo "a\\b \\\\ \\" \\$ \\`"',
    'echo "line\\\njoined"',
    "echo 'kept\\\nas is'",
    "echo 'two\nlines' \"and\ntwo\"",
    "ls \\\n  -l \\\n  -a",
    "ls && \\\n pwd",
    "echo \\; \\| \\& \\< \\> \\( \\)",
    "echo ';' '|' '&&' '$(x)' '`x`'",
    "echo \\$HOME '$HOME'",
    "grep 'foo$' x",
    'grep "foo$" x',
    'grep "a$|b$" x',
    'grep "(a$) b$ c" x',
    "grep foo$ x",
    "echo $",
    "ls # a comment",
    "# first\nls\n# last",
    "ls #c1 ; rm x\npwd",
    "echo a#b '#c' \\#d",
    "echo {} {a} x{y",
    "git show HEAD@{1}",
    "git log HEAD~1 HEAD^",
    "git diff a..b",
    "echo } {",
    "ls 2>&1",
    "ls 2>/dev/null",
    "ls >/dev/null 2>&1",
    "ls > /dev/null 2> /dev/null",
    "ls 1>/dev/null",
    "ls >>/dev/null",
    "ls >&2",
    "ls 2>&1 | head -n 3",
    "ls -l 2>/dev/null -a",
    "echo a>/dev/null b",
    "echo a2>/dev/null",
    "echo '2'>/dev/null",
    "cat <in.txt",
    "cat < in.txt | wc -l",
    "cat <'in.txt'",
    "cat 0<in.txt",
    "echo 2 > '/dev/null'",
    "echo if then fi done for",
    "echo a=b --x=y",
    "echo time",
    "'ls' \"-l\"",
    "l's' -a",
    "echo é 日本 — …",
    "echo a,b a:b a@b a%b a+b a.b a_b a^b",
    "sed -n '1,200p' f",
    "rg -n 'a|b' -g '*.py' .",
    "echo '*' \"?\" \\[x]",
    "echo '~' \\~ a~",
    "[ -f x ]",
    "tr -d '\\n'",
    "echo \\\n",
]

NOT_PLAIN = [
    "",
    "  \n ",
    "# nothing",
    "echo $HOME",
    "echo ${HOME}",
    'echo "$HOME"',
    "echo $(rm x)",
    'echo "$(rm x)"',
    "echo `rm x`",
    'echo "`rm x`"',
    "echo $'a\\nb'",
    'echo $"a"',
    "echo $((1+1))",
    "echo $[1+1]",
    "echo $?",
    'echo "$?"',
    "(ls)",
    "{ ls; }",
    "ls &",
    "ls & pwd",
    "ls |& wc",
    "ls &> /dev/null",
    "ls > out",
    "ls >out.txt",
    "ls >> out",
    "ls 2> err",
    "ls >| /dev/null",
    "ls 3>/dev/null",
    "ls >&3",
    "ls >&1x",
    "ls >&-",
    "ls <&-",
    "ls <> /dev/null",
    "ls > /dev/null*",
    "ls >",
    "ls <",
    "ls < # x",
    "ls {fd}>/dev/null",
    "cat < ~/x",
    "cat < $x",
    "cat </dev/tcp/example.org/80",
    'cat <"/dev/udp/example.org/80"',
    "cat <<EOF\nx\nEOF",
    "cat <<<x",
    "diff <(ls) x",
    "tee >(cat)",
    "A=1 ls",
    "A=1",
    "A+=1 ls",
    "a[0]=1 ls",
    "A='x y' ls",
    "é=1 ls",
    "f() { ls; }",
    "function f { ls; }",
    "if true; then ls; fi",
    "for x in a; do ls; done",
    "while true; do ls; done",
    "case x in esac",
    "time ls",
    "[[ -f x ]]",
    "((1))",
    "coproc ls",
    "ls *",
    "ls ?",
    "ls [ab]",
    "ls ~",
    "ls ~/x",
    "ls a=~/x",
    "=ls",
    "echo =ls",
    "echo {a,b}",
    "echo {1..3}",
    "echo {a,'b'}",
    "ls ;; pwd",
    "; ls",
    "ls && ; pwd",
    "ls &&",
    "ls |",
    "| ls",
    "ls | | wc",
    "ls | ! wc",
    "!",
    "! ; ls",
    "echo 'open",
    'echo "open',
    "echo \\",
    "2\\\n>/dev/null ls",
    "l\\\ns",
    "2>/dev/null ! ls",
    ">/dev/null",
    "ls; >/dev/null",
    "ls \r",
    "ls \x00",
    "ls \x1b[2J",
    "ls '\ud800'",
    "ls )",
    "!(x)",
]

# The names of commands are not looked up; whatever runs says with which words.
PRELUDE = """
exec 3>>"$RECORD"
command_not_found_handle() { builtin printf '%s\\0' "$#" "$@" >&3; return "$STATUS"; }
for name in printf; do eval "$name() { command_not_found_handle $name \\"\\$@\\"; }"; done
enable -n . : [ alias bg cd command declare echo exec false fg hash help history jobs kill let pwd read set test \\
  times trap true type typeset ulimit umask unalias unset wait eval
"""


def ran(script: str, folder: Path) -> set[tuple[str, ...]]:
    """The commands that bash runs for a script, when all of them succeed and when all of them fail."""
    record = folder / "record"
    for status in ("0", "1"):
        environ = {"PATH": "/nonexistent", "HOME": "/home/nobody", "RECORD": str(record), "STATUS": status}
        subprocess.run(
            [BASH, "--norc", "--noprofile", "-c", PRELUDE + script],
            env=environ,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
    fields = iter(record.read_bytes().decode().split("\0")[:-1] if record.exists() else [])
    found = {tuple(next(fields) for _ in range(int(size))) for size in fields}
    record.unlink(missing_ok=True)
    return found


BASH = next(path for path in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash") if os.path.exists(path))


@pytest.mark.parametrize("script", PLAIN)
def test_a_plain_script_gives_bash_the_same_words(script: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("in")
    commands = plain(script)
    assert commands is not None
    assert {tuple(argv) for argv in commands} == ran(script, tmp_path)


@pytest.mark.parametrize("script", NOT_PLAIN)
def test_what_a_shell_would_make_something_of_is_not_plain(script: str) -> None:
    assert plain(script) is None


@pytest.mark.parametrize("script", ["ls *.py", "cat ~/x", "ls src/[ab]?.py", "=ls"])
def test_patterns_stand_as_they_were_written_and_are_known(script: str) -> None:
    assert [(list(it.argv), it.expands) for it in parse(script) or []] == [(script.split(), True)]


def test_a_command_knows_what_it_is_fed_by() -> None:
    assert [(it.argv[0], it.piped, it.expands) for it in parse("a * | b && c; d") or []] == [
        ("a", False, True),
        ("b", True, False),
        ("c", False, False),
        ("d", False, False),
    ]


@pytest.mark.parametrize(
    ("argv", "script"),
    [
        (["bash", "-lc", "ls"], "ls"),
        (["/bin/bash", "-lc", "ls"], "ls"),
        (["/usr/bin/zsh", "-lc", "ls"], "ls"),
        (["sh", "-c", "ls"], "ls"),
        (["dash", "-c", "ls"], "ls"),
        (["bash", "-l", "-c", "ls"], "ls"),
        (["bash", "-c", "ls", "name"], None),
        (["bash", "-x", "-c", "ls"], None),
        (["bash", "script.sh"], None),
        (["bash"], None),
        (["fish", "-c", "ls"], None),
        (["python", "-c", "ls"], None),
        ([], None),
    ],
)
def test_a_shell_is_taken_off_its_script(argv: list[str], script: str | None) -> None:
    assert unwrap(argv) == script


# ── properties ────────────────────────────────────────────────────────────────────────────────────────────────────────

SIGNS = st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from(" \t\n'\"\\$`|&;<>(){}*?[]~!#=")
WORD = st.text(SIGNS, max_size=12).filter(lambda word: not word.startswith("="))
NAME = st.from_regex(r"x[a-z0-9.-]{0,6}", fullmatch=True)
ARGV = st.builds(lambda name, args: [name, *args], NAME, st.lists(WORD, max_size=4))
JOINT = st.sampled_from([" | ", " && ", " || ", " ; ", "\n", " |\n", " 2>&1 | ", " && ! ", " # c\n"])


@given(st.lists(st.tuples(ARGV, JOINT), min_size=1, max_size=5))
def test_quoted_words_come_back(commands: list[tuple[list[str], str]]) -> None:
    script = "".join(shlex.join(argv) + joint for argv, joint in commands[:-1]) + shlex.join(commands[-1][0])
    assert plain(script) == [argv for argv, _ in commands]


SHELLISH = st.text(
    st.sampled_from("ab2 \t\n'\"\\$`|&;<>(){}*?[]~!#=,./-") | st.sampled_from("xyz") | st.characters(), max_size=40
)


@settings(max_examples=count(1000))
@given(SHELLISH)
def test_no_script_is_too_strange(script: str) -> None:
    commands = plain(script)
    assert commands is None or (commands and all(commands))


# Without `<`, for a file would have to be there, and without names that bash looks for in the file system.
PIECES = st.lists(
    st.sampled_from([*"abxy29 \t\n'\"\\$|;!#={},.-~é^@:%&", *["\\\n", "||", "&&", ">&2", "2>&1", ">/dev/null", "2>"]])
    | st.sampled_from([" ", " a ", " ! ", '" "', "' '", "a; b"]),
    max_size=14,
).map("".join)


@settings(max_examples=count(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(PIECES)
def test_bash_agrees_on_whatever_is_plain(tmp_path_factory: pytest.TempPathFactory, script: str) -> None:
    commands = plain(script)
    assume(commands)
    assert commands
    assume(all(argv[0] and not argv[0].startswith("%") for argv in commands))
    # With all of them failing or none, a negated command may keep one that follows from ever being run.
    assume("!" not in script or ("||" not in script and "&&" not in script))
    assert {tuple(argv) for argv in commands} == ran(script, tmp_path_factory.getbasetemp())
