"""Keys of Codex's configuration that this product has no use for: no mistake in a file, and without effect."""

from __future__ import annotations

from typing import Final


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


# At the top of a file.
TOP: Final = _keys(
    """
    allow_login_shell allow_symlinked_codex_home analytics apps apps_mcp_product_sku audio
    background_terminal_max_timeout browser_use chatgpt_base_url check_for_update_on_startup
    cli_auth_credentials_store cloud computer_use daybreak default_permissions desktop disable_paste_burst
    experimental_realtime_start_instructions experimental_realtime_webrtc_call_base_url
    experimental_realtime_ws_backend_prompt experimental_realtime_ws_base_url experimental_realtime_ws_model
    experimental_realtime_ws_startup_context experimental_thread_store experimental_thread_store_endpoint
    experimental_use_unified_exec_tool feedback file_opener forced_chatgpt_workspace_id forced_login_method
    ghost_snapshot goals hide_agent_reasoning history hooks include_apps_instructions
    include_collaboration_mode_instructions include_environment_context include_environment_context_time
    include_permissions_instructions js_repl_node_module_dirs js_repl_node_path log_dir marketplaces
    mcp_enterprise_managed_auth mcp_oauth_callback_port mcp_oauth_callback_url mcp_oauth_credentials_store
    mcp_optional_startup_grace_ms memories model_auto_compact_token_limit_scope model_catalog_json
    model_post_turn_compact_threshold_percent model_supports_reasoning_summaries notice orchestrator
    oss_provider otel permissions plan_mode_reasoning_effort plugins realtime responses_api_metadata
    show_raw_agent_reasoning skills sqlite_home suppress_unstable_features_warning tool_suggest tools web_search windows
    """
)

# In `[model_providers.ID]`.
PROVIDER: Final = _keys(
    """
    auth aws capabilities credential_file gateway_oauth location model_catalog_url
    project_id supports_standalone_web_search supports_websockets websocket_connect_timeout_ms
    """
)

# In `[mcp_servers.ID]`.
MCP_SERVER: Final = _keys(
    """
    bearer_token default_tools_approval_mode environment_id oauth oauth_resource scopes
    supports_parallel_tool_calls tools
    """
)

# In `[shell_environment_policy]`.
SHELL: Final = _keys("experimental_use_profile filters")
