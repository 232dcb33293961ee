"""What of the configuration that a client gives a thread stays with it, beside its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# What a thread's later turns look up. The rest is in its settings by then, or would put secrets into its log.
KEYS: Final = frozenset(
    {
        "agents.max_depth",
        "agents.max_threads",
        "approval_timeout_secs",
        "compact_prompt",
        "developer_instructions",
        "experimental_compact_prompt_file",
        "instructions",
        "model_auto_compact_token_limit",
        "model_context_window",
        "model_instructions_file",
        "model_verbosity",
        "project_doc_fallback_filenames",
        "project_doc_max_bytes",
        "project_root_markers",
        "review_model",
        "tool_output_token_limit",
    }
)


def lasting(overrides: Mapping[str, Any] | None) -> dict[str, Any]:
    """The overrides that hold for all of a thread's life."""
    given = dict(overrides or {})
    agents = given.get("agents")
    dotted = {f"agents.{key}": value for key, value in agents.items()} if isinstance(agents, Mapping) else {}
    return {key: value for key, value in {**dotted, **given}.items() if key in KEYS}
