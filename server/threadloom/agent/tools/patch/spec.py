"""`apply_patch`, as the model is told of it: as a function, and as a tool that takes plain text."""

from __future__ import annotations

from typing import Final

from threadloom.agent.sampling import Item
from threadloom.agent.tools.spec import function, text

_FORMAT: Final = """\
A patch begins with `*** Begin Patch` and ends with `*** End Patch`. Between them, one section for each file:

*** Add File: <path>     every line of the new file follows, with `+` before it
*** Delete File: <path>  nothing follows
*** Update File: <path>  optionally `*** Move to: <new path>`, then one or more chunks

A chunk begins with `@@`, or with `@@ <line>` where a line above it (a class, a function) tells the place. Its lines
have a space before what stays, `-` before what goes and `+` before what comes. Give three lines that stay on either
side of a change. `*** End of File` behind a chunk says that it is at the end.

*** Begin Patch
*** Update File: src/greet.py
@@ def greet():
-    print("Hi")
+    print("Hello")
*** Add File: notes.txt
+One line.
*** End Patch

Paths are relative to the thread's folder. All files are changed, or none if anything does not fit."""

FUNCTION: Final = function(
    "apply_patch",
    f"Change files with a patch.\n\n{_FORMAT}",
    {"input": text("The whole patch, from its first line to its last.")},
    "input",
)

# The same format for a model that writes by a grammar.
_GRAMMAR: Final = r"""
start: first file+ last
first: "*** Begin Patch" LF
last: "*** End Patch" LF?

file: added | deleted | updated
added: "*** Add File: " path LF new_line+
deleted: "*** Delete File: " path LF
updated: "*** Update File: " path LF moved? chunks?

path: /(.+)/
new_line: "+" /(.*)/ LF
moved: "*** Move to: " path LF
chunks: (place | line)+ ending?
place: ("@@" | "@@ " /(.+)/) LF
line: (" " | "-" | "+") /(.*)/ LF
ending: "*** End of File" LF

%import common.LF
""".lstrip()

FREEFORM: Final[Item] = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Change files with a patch. Write the patch itself, not JSON around it.",
    "format": {"type": "grammar", "syntax": "lark", "definition": _GRAMMAR},
}
