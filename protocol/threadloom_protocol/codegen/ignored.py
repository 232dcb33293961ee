"""Members of Codex's requests that are accepted here and change nothing, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from threadloom_protocol.spec import Surface

_ELSEWHERE = "Threads run on the machine of the server, in the directory that is their `cwd`."
_METADATA = "Nothing is sent to the model's server but the conversation."
_PLUGINS = "There are no plugins."
_MODE = "Agents are spawned as the model decides, within the limits of `[agents]`."
_ROOTS = "The roots are `cwd` and the `writableRoots` of the sandbox policy."
_STYLE = "It is kept and told, but the model is not instructed by it."
_TEST = "Exists only for Codex's own tests."
_DAYBREAK = "A switch of OpenAI's own clients."
_PREDICTION = "The server does not guess what a person will say next."

# A method → its members that have no effect.
IGNORED: Final[Mapping[str, Mapping[str, str]]] = {
    "account/read": {"refreshToken": "An API key is not refreshed."},
    "config/batchWrite": {"reloadUserConfig": "A change holds at once, whether it is asked for or not."},
    "model/list": {"includeHidden": "No model is hidden."},
    "permissionProfile/list": {"cwd": "The sets are the same in every directory."},
    "review/start": {"delivery": "A review always runs in the thread itself."},
    "thread/fork": {
        "attachToSource": "A fork is nobody's child.",
        "deferGoalContinuation": "A fork has no goal of its own until it is set.",
        "experimentalDisablePredictionMcp": _PREDICTION,
        "experimentalPredictionMode": _PREDICTION,
        "runtimeWorkspaceRoots": _ROOTS,
    },
    "thread/list": {"useStateDbOnly": "Lists always come from the index alone."},
    "thread/metadata/update": {
        "daybreakEnabled": _DAYBREAK,
        "projectId": "There are no projects.",
    },
    "thread/resume": {
        "personality": _STYLE,
        "runtimeWorkspaceRoots": _ROOTS,
    },
    "thread/settings/update": {"disabledPluginIds": _PLUGINS, "multiAgentMode": _MODE, "personality": _STYLE},
    "thread/start": {
        "allowProviderModelFallback": "A model that is not there is an error of the turn, which names those that are.",
        "daybreakEnabled": _DAYBREAK,
        "dynamicTools": "Tools of the client's own are not offered to the model yet.",
        "environments": _ELSEWHERE,
        "experimentalRawEvents": "What the model sees is not sent to clients.",
        "historyMode": "Every thread is paginated.",
        "mockExperimentalField": _TEST,
        "multiAgentMode": _MODE,
        "personality": _STYLE,
        "projectId": "There are no projects.",
        "runtimeWorkspaceRoots": _ROOTS,
        "selectedCapabilityRoots": _PLUGINS,
        "serviceName": "Nothing is measured for a vendor.",
        "sessionStartSource": "No hooks run when a thread begins.",
    },
    "turn/start": {
        "cyberAccessProgram": "A matter between OpenAI and its customers.",
        "disabledPluginIds": _PLUGINS,
        "environments": _ELSEWHERE,
        "multiAgentMode": _MODE,
        "parentTurnId": _METADATA,
        "personality": _STYLE,
        "responsesapiClientMetadata": _METADATA,
        "responsesapiClientMetadataPatch": _METADATA,
        "rootTurnId": _METADATA,
        "runtimeWorkspaceRoots": _ROOTS,
        "turnTrigger": _METADATA,
    },
    "turn/steer": {"responsesapiClientMetadata": _METADATA, "responsesapiClientMetadataPatch": _METADATA},
}


def undeclared(surface: Surface) -> list[str]:
    """What is listed and is no member of any request."""
    return [
        f"{method}.{member}"
        for method, members in IGNORED.items()
        for member in members
        if method not in surface.requests
        or member not in {it.alias for it in surface.requests[method].params.model_fields.values()}
    ]


def section() -> Iterator[str]:
    """The list as Markdown."""
    yield "## Accepted without effect"
    yield ""
    yield "Clients of Codex send these members, and are not refused for it. Beside them, methods that are answered"
    yield "empty take no notice of theirs, and of `collaborationMode` the model and the effort alone have an effect."
    yield ""
    yield "| method | member | why |"
    yield "|---|---|---|"
    for method, members in sorted(IGNORED.items()):
        for member, why in sorted(members.items()):
            yield f"| `{method}` | `{member}` | {why} |"
