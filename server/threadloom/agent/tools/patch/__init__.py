"""Patches as a tool: shown before they are applied, and applied all or nothing."""

from __future__ import annotations

from threadloom.agent.tools.patch.heredoc import patch_in as patch_in
from threadloom.agent.tools.patch.tool import ApplyPatch as ApplyPatch
from threadloom.agent.tools.patch.tool import Patches as Patches
