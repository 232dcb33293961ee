"""Patches: text of a model becomes a plan, and a plan becomes files, all of them or none."""

from __future__ import annotations

from threadloom.exec.patch.apply import apply as apply
from threadloom.exec.patch.base import Add as Add
from threadloom.exec.patch.base import Change as Change
from threadloom.exec.patch.base import Delete as Delete
from threadloom.exec.patch.base import Guard as Guard
from threadloom.exec.patch.base import PatchError as PatchError
from threadloom.exec.patch.base import Read as Read
from threadloom.exec.patch.base import Update as Update
from threadloom.exec.patch.diff import Changes as Changes
from threadloom.exec.patch.fence import inside as inside
from threadloom.exec.patch.fence import outside as outside
from threadloom.exec.patch.parse import parse as parse
from threadloom.exec.patch.plan import Plan as Plan
from threadloom.exec.patch.plan import plan as plan
