"""Patches, good and broken: what is there, what is said, what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.server.exec.patching import Tree, wrapped

F = "*** Update File: f\n"


@dataclass(frozen=True)
class Good:
    """A patch that works. `codex` is false where Codex refuses it, or damages the file."""

    name: str
    files: Tree
    text: str
    after: Tree
    codex: bool = True


@dataclass(frozen=True)
class Broken:
    """A patch that does not, and what the error must say."""

    name: str
    files: Tree
    text: str
    says: list[str] = field(default_factory=list)


def good(name: str, files: Tree, body: str, after: Tree, *, codex: bool = True) -> Good:
    return Good(name, files, wrapped(body), after, codex)


def edit(name: str, before: str, chunks: str, after: str, *, codex: bool = True) -> Good:
    return Good(name, {"f": before}, wrapped(F + chunks), {"f": after}, codex)


def broken(name: str, files: Tree, body: str, *says: str) -> Broken:
    return Broken(name, files, wrapped(body), list(says))


TWO_CLASSES = "class A\n  def f\n    x\nclass B\n  def f\n    x\n"
DELETE_F = "*** Begin Patch\n*** Delete File: f\n*** End Patch"

GOOD = [
    good("a new file", {}, "*** Add File: n\n+hi\n+there", {"n": "hi\nthere\n"}),
    good("a new file in new folders", {}, "*** Add File: a/b/n\n+hi", {"a/b/n": "hi\n"}),
    good("an empty new file", {}, "*** Add File: n", {"n": ""}),
    good("blanks and tabs are kept", {}, "*** Add File: n\n+x  \n+\n+\ty", {"n": "x  \n\n\ty\n"}),
    good("a new file over an old one", {"f": "old\n"}, "*** Add File: f\n+new", {"f": "new\n"}),
    good("a new file over a binary one", {"f": b"\xff\0"}, "*** Add File: f\n+new", {"f": "new\n"}),
    good("a bare new file", {}, "*** Add File: n\n+hi\n\\ No newline at end of file", {"n": "hi"}, codex=False),
    good("a file goes", {"f": "a\n", "g": "b\n"}, "*** Delete File: f", {"g": "b\n"}),
    good("a binary file goes", {"f": b"\xff\0"}, "*** Delete File: f", {}),
    good("a path with a blank", {"a b": "x\n"}, "*** Delete File: a b", {}),
    good("a path with dots", {"f": "a\n"}, "*** Update File: ./x/../f\n@@\n-a\n+b", {"f": "b\n"}, codex=False),
    edit("one line", "a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n"),
    edit("no @@ at the first chunk", "a\nb\n", "-a\n+A", "A\nb\n"),
    edit("two chunks", "a\nb\nc\nd\n", "@@\n-a\n+A\n@@\n-d\n+D", "A\nb\nc\nD\n"),
    edit("a blank line between chunks", "a\nb\n", "@@\n-a\n+A\n\n@@\n-b\n+B", "A\nB\n"),
    edit("a blank line before the first chunk", "a\nb\n", "\n@@\n-a\n+A", "A\nb\n"),
    edit("a blank line at the end", "a\nb\n", "@@\n-a\n+c\n", "c\nb\n"),
    edit("a blank line behind what is put in", "a\n", "@@\n+b\n", "b\na\n"),
    edit("a blank line behind what is put in somewhere", "a\nc\n", "@@ a\n+b\n", "a\nb\nc\n"),
    edit("a blank line that is kept", "a\n\nb\n", "@@\n a\n\n-b\n+c", "a\n\nc\n"),
    edit("a blank line that is there", "a\n\nb\n", "@@\n-a\n+A\n\n@@\n-b\n+B", "A\n\nB\n"),
    edit("blank lines out and in", "a\nb\n", "@@\n-a\n-\n+A\n+", "A\nb\n"),
    edit("@@ seeks", TWO_CLASSES, "@@ class B\n   def f\n-    x\n+    y", TWO_CLASSES[:-2] + "y\n"),
    edit("@@ twice", TWO_CLASSES, "@@ class B\n@@   def f\n-    x\n+    y", TWO_CLASSES[:-2] + "y\n", codex=False),
    edit("@@ seeks past blanks", "  class A  \n x\n", "@@ class A\n- x\n+ y", "  class A  \n y\n"),
    edit("@@ seeks past quotes", "a “q”\nx\n", '@@ a "q"\n-x\n+y', "a “q”\ny\n"),
    edit("@@ and a blank", "a\nb\n", "@@ \n-b\n+A", "a\nA\n"),
    edit("@@ each on its own", "x\na\nx\nb\nx\n", "@@ a\n-x\n+X\n@@ b\n-x\n+Y", "x\na\nX\nb\nY\n"),
    edit("only new lines go to the end", "a\nb\n", "@@\n+x", "a\nb\nx\n"),
    edit("also behind @@", "a\nb\n", "@@ a\n+x", "a\nb\nx\n"),
    edit("new lines at the end, then a change", "a\nb\n", "@@\n+y\n@@\n-b\n+z", "a\nz\ny\n"),
    edit("twice to the end", "a\n", "@@\n+y\n@@\n+z", "a\ny\nz\n"),
    edit("an empty file", "", "@@\n+x", "x\n"),
    edit("to an empty file", "a\n", "@@\n-a", ""),
    edit("nothing changes", "a\n", "@@\n a", "a\n"),
    edit("the end of the file", "x\ny\nx\n", "@@\n-x\n+X\n*** End of File", "x\ny\nX\n"),
    edit("the end of the file, and a blank line", "a\nb\n", "@@\n-b\n+A\n\n*** End of File  ", "a\nA\n"),
    edit("blanks at the end of a line", "a  \nb\n", "@@\n a\n-b\n+c", "a  \nc\n"),
    edit("blanks around a line", "   a\nb\n", "@@\n a\n-b\n+c", "   a\nc\n"),
    edit("exactly comes first", " a\na\n", "@@\n-a\n+A", " a\nA\n"),
    edit("quotes, dashes, spaces", "“a” – ‘b’\xa0c\nx\n", "@@\n \"a\" - 'b' c\n-x\n+y", "“a” – ‘b’\xa0c\ny\n"),
    edit(
        "rarer ones",
        "a—b−c‚d„f\u2003h\u3000i\u2011\nx\n",
        "@@\n a-b-c'd\"f h i-\n-x\n+y",
        "a—b−c‚d„f\u2003h\u3000i\u2011\ny\n",
    ),
    edit(
        "lines that look like signs",
        "- a\n*** x\n",
        "@@\n-- a\n++ b\n *** x\n+*** End Patch",
        "+ b\n*** x\n*** End Patch\n",
    ),
    edit("other separators are no line ends", "a\x0cb\u2028c\nd\n", "@@\n-d\n+e", "a\x0cb\u2028c\ne\n"),
    edit("CRLF is kept", "a\r\nb\r\n", "@@\n-a\n+A\n b\n+c", "A\r\nb\r\nc\r\n"),
    edit("mixed line ends are kept", "a\r\nb\nc\n", "@@\n b\n-c\n+C", "a\r\nb\nC\r\n"),
    edit("CRLF without an end", "a\r\nb", "@@\n-a\n+A", "A\r\nb\r\n"),
    edit("CR alone", "a\rb\rc", "@@\n-b\n+B", "a\rB\rc\r"),
    edit("a stray CR", "a\rb\nc\n", "@@\n-c\n+C", "a\rb\nC\n", codex=False),
    edit("a newline is put at the end", "a\nb", "@@\n-b\n+c", "a\nc\n"),
    edit("also far away", "a\nb", "@@\n-a\n+c", "c\nb\n"),
    edit("a bare end", "a\nb\n", "@@\n-b\n+c\n\\ No newline at end of file", "a\nc", codex=False),
    edit("a bare end stays", "a\nb", "@@\n-a\n+c\n b\n\\ No newline at end of file", "c\nb", codex=False),
    edit("a byte order mark that is repeated", "\ufeffa\nb\n", "@@\n-\ufeffa\n+\ufeffA", "\ufeffA\nb\n"),
    edit("a byte order mark before what stays", "\ufeffa\nb\n", "@@\n \ufeffa\n-b\n+c", "\ufeffa\nc\n"),
    edit("a byte order mark", "\ufeffa\nb\n", "@@\n-a\n+A", "\ufeffA\nb\n", codex=False),
    good("a move", {"f": "a\n"}, F + "*** Move to: d/g\n@@\n-a\n+b", {"d/g": "b\n"}),
    good("a move over a file", {"f": "a\n", "g": "z\n"}, F + "*** Move to: g\n@@\n-a\n+b", {"g": "b\n"}),
    good("a move alone", {"f": b"\xff"}, F + "*** Move to: g", {"g": b"\xff"}, codex=False),
    good("a move to where it is", {"f": "a\n"}, F + "*** Move to: f\n@@\n-a\n+b", {"f": "b\n"}, codex=False),
    good(
        "a move, and a new file there",
        {"f": "a\n"},
        F + "*** Move to: g\n@@\n a\n*** Add File: f\n+n",
        {"f": "n\n", "g": "a\n"},
    ),
    good(
        "two files change places",
        {"f": "a\n", "g": "b\n"},
        f"{F}*** Move to: h\n@@\n a\n"
        "*** Update File: g\n*** Move to: f\n@@\n b\n*** Update File: h\n*** Move to: g\n@@\n a",
        {"f": "b\n", "g": "a\n"},
    ),
    good("new, then changed", {}, "*** Add File: f\n+a\n" + F + "@@\n-a\n+b", {"f": "b\n"}),
    good("new, then new again", {}, "*** Add File: f\n+a\n*** Add File: f\n+b", {"f": "b\n"}),
    good("new, then gone", {"g": ""}, "*** Add File: f\n+a\n*** Delete File: f", {"g": ""}),
    good("changed twice", {"f": "a\nb\n"}, f"{F}@@\n-a\n+A\n{F}@@\n-b\n+B", {"f": "A\nB\n"}),
    good("gone, then new", {"f": "a\n"}, "*** Delete File: f\n*** Add File: f\n+z", {"f": "z\n"}),
    good("a file becomes a folder", {"f": "a\n"}, "*** Delete File: f\n*** Add File: f/g\n+z", {"f/g": "z\n"}),
    good(
        "everything at once",
        {"f": "a\n", "g": "b\n", "h": "c\n"},
        f"*** Add File: n\n+n\n{F}@@\n-a\n+A\n*** Delete File: g\n*** Update File: h\n*** Move to: i\n@@\n-c\n+C",
        {"n": "n\n", "f": "A\n", "i": "C\n"},
    ),
    good("an environment", {"f": "a\n"}, "*** Environment ID: local\n*** Delete File: f", {}),
    good("blanks at headers", {"f": "a\n"}, "  *** Delete File: f  \n *** Add File: g \n+x", {"g": "x\n"}),
    good(
        "blank lines between files",
        {"f": "a\n"},
        "\n*** Delete File: f\n\n\n*** Add File: g\n+x\n",
        {"g": "x\n"},
        codex=False,
    ),
    Good("blanks around it all", {"f": ""}, f" \n\n  {DELETE_F}  \n\n", {}),
    Good("no newline at the end", {"f": ""}, DELETE_F, {}),
    Good("a heredoc", {"f": ""}, f"<<'EOF'\n{DELETE_F}\nEOF\n", {}),
    Good("a heredoc in plain", {"f": ""}, f"<<EOF\n{DELETE_F}\nEOF", {}),
    Good("a heredoc of another word", {"f": ""}, f'apply_patch <<"PATCH"\n{DELETE_F}\nPATCH', {}, codex=False),
    Good("CRLF in the patch", {"f": "a\nb\n"}, wrapped(F + "@@\n-a\n+A").replace("\n", "\r\n"), {"f": "A\nb\n"}),
    Good("CRLF in both", {"f": "a\r\nb\r\n"}, wrapped(F + "@@\n-a\n+A").replace("\n", "\r\n"), {"f": "A\r\nb\r\n"}),
]

KEEP: Tree = {"f": "a\nb\nc\n", "d/g": "g\n", "binary": b"\xff\xfe\n"}
FIRST = "*** Add File: new\n+x\n*** Delete File: d/g\n"  # would work, and must not

BROKEN = [
    Broken("nothing", KEEP, "", ["Line 1", "*** Begin Patch"]),
    Broken("no beginning", KEEP, f"{F}@@\n-a\n+b\n*** End Patch", ["Line 1", "*** Begin Patch"]),
    Broken("no end", KEEP, f"*** Begin Patch\n{FIRST}", ["Line 4", "*** End Patch"]),
    Broken("only a beginning", KEEP, "*** Begin Patch", ["*** End Patch"]),
    Broken("text behind", KEEP, f"{DELETE_F}\nDone.", ["Line 4", "'Done.'"]),
    Broken("a heredoc that does not close", KEEP, f"<<'EOF'\n{DELETE_F}", ["Line 1"]),
    Broken("a unified diff", KEEP, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", ["Line 1"]),
    Broken("half a character", KEEP, wrapped("*** Add File: n\n+\ud800"), ["surrogate"]),
    Broken("no files", KEEP, "*** Begin Patch\n*** End Patch", ["empty"]),
    broken("an environment without id", KEEP, "*** Environment ID:\n*** Delete File: f", "Line 2"),
    broken("an environment later on", KEEP, FIRST + "*** Environment ID: x", "Line 5"),
    broken("an unknown header", KEEP, FIRST + "*** Frob File: f", "Line 5", "Frob", "*** Update File: <path>"),
    broken("no path", KEEP, FIRST + "*** Add File: \n+x", "Line 5", "path"),
    broken("no path to move to", KEEP, FIRST + F + "*** Move to:\n@@\n-a\n+b", "Line 6", "path"),
    broken("a zero in a path", KEEP, FIRST + "*** Add File: a\0b\n+x", "Line 5", "path"),
    broken("a new file without plus", KEEP, FIRST + "*** Add File: n\n+x\ny", "Line 7", "'y'", "'+'"),
    broken("an empty update", KEEP, FIRST + F.strip(), "Line 5", "empty"),
    broken("an empty chunk", KEEP, FIRST + F + "@@", "Line 7", "no lines"),
    broken("an empty chunk at the end of a file", KEEP, FIRST + F + "@@\n*** End of File", "Line 7", "no lines"),
    broken("a line without a sign", KEEP, FIRST + F + "@@\nfoo\n+b", "Line 7", "'foo'", "'-'"),
    broken("a line without a sign later on", KEEP, FIRST + F + "@@\n-a\nfoo\n+b", "Line 8", "'foo'", "@@"),
    broken("a blank line that is not there", KEEP, FIRST + F + "@@\n-", "not found"),
    broken("@@ without a blank", KEEP, FIRST + F + "@@x\n-a\n+b", "Line 6", "'@@x'"),
    broken("a line behind the end", KEEP, FIRST + F + "@@\n-c\n+d\n*** End of File\n+x", "Line 10", "@@"),
    broken("two moves", KEEP, FIRST + F + "*** Move to: x\n*** Move to: y\n@@\n-a\n+b", "Line 7", "Move to: y"),
    broken("lines that are not there", KEEP, FIRST + F + "@@\n a\n-z\n+b", "f, chunk at line 6", "not found", "\na\nz"),
    broken(
        "a context that is not there", KEEP, FIRST + F + "@@ nowhere\n-a\n+b", "line 6", "'@@ nowhere' was not found"
    ),
    broken("line numbers", KEEP, FIRST + F + "@@ -1,2 +1,2 @@\n-a\n+b", "line 6", "Line numbers are no part"),
    broken("the wrong order", KEEP, FIRST + F + "@@\n-b\n+B\n@@\n-a\n+A", "line 9", "line 1 only, above"),
    broken("overlapping chunks", KEEP, FIRST + F + "@@\n-a\n+A\n b\n@@\n b\n-c\n+C", "line 10", "line 2 only, above"),
    broken("not the end", KEEP, FIRST + F + "@@\n-a\n+A\n*** End of File", "line 1, but that is not the end"),
    broken(
        "a bare end in the middle", KEEP, FIRST + F + "@@\n-a\n+A\n\\ No newline at end of file", "more lines follow"
    ),
    broken("more lines than the file has", KEEP, FIRST + F + "@@\n a\n b\n c\n d\n-e", "not found"),
    broken("no such file to change", KEEP, FIRST + "*** Update File: no\n@@\n-a\n+b", "no does not exist (line 5"),
    broken("no such file to delete", KEEP, FIRST + "*** Delete File: no", "no does not exist (line 5"),
    broken("gone already", KEEP, FIRST + "*** Delete File: d/g", "d/g does not exist"),
    broken("moved already", KEEP, FIRST + f"{F}*** Move to: g\n@@\n a\n{F}@@\n-a\n+b", "f does not exist"),
    broken("a folder to delete", KEEP, FIRST + "*** Delete File: d", "d cannot be read: it is a folder"),
    broken("a folder to change", KEEP, FIRST + "*** Update File: d\n@@\n-a\n+b", "it is a folder"),
    broken("a folder to write over", KEEP, FIRST + "*** Add File: d\n+x", "it is a folder"),
    broken("a folder to move to", KEEP, FIRST + F + "*** Move to: d\n@@\n-a\n+b", "it is a folder"),
    broken("a folder by its name", KEEP, FIRST + "*** Add File: d/..\n+x", "is a folder"),
    broken("a file below a file", KEEP, FIRST + "*** Add File: f/x\n+x", "below something that is not a folder"),
    broken(
        "a file below a new file",
        KEEP,
        FIRST + "*** Add File: n\n+x\n*** Add File: n/m\n+x",
        "both a file and a folder",
    ),
    broken(
        "a file above a new file",
        KEEP,
        FIRST + "*** Add File: n/m\n+x\n*** Add File: n\n+x",
        "both a file and a folder",
    ),
    broken("binary", KEEP, FIRST + "*** Update File: binary\n@@\n+x", "binary is not UTF-8 text"),
    broken("outside", KEEP, FIRST + "*** Add File: ../out\n+x", "outside of what may be written"),
    broken("outside by a move", KEEP, FIRST + F + "*** Move to: ../out\n@@\n-a\n+b", "outside of what may be written"),
    broken("outside, absolute", KEEP, FIRST + "*** Add File: /nowhere/out\n+x", "/nowhere/out is outside"),
    broken("protected", KEEP, FIRST + "*** Add File: .git/hooks/pre-commit\n+x", "outside of what may be written"),
    broken("a name too long", KEEP, FIRST + f"*** Add File: {'n' * 300}\n+x", "cannot be read"),
    broken(
        "all that is wrong",
        KEEP,
        f"{FIRST}{F}@@\n-x\n@@\n-y\n*** Delete File: no",
        "line 6",
        "line 8",
        "no does not exist",
    ),
]
