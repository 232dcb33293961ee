"""Every tool for agents and sub-sessions."""

from __future__ import annotations

from threadloom.agent.base import Tool
from threadloom.agent.collab.looking import ListActiveAgents, ListAgents, ReadAgent, SetThreadNote
from threadloom.agent.collab.sessions import CancelSession, CreateSession, WaitSession
from threadloom.agent.collab.spawning import Nursery
from threadloom.agent.collab.tools import CloseAgent, ResumeAgent, SendInput, SpawnAgent, Wait


def collab_tools(nursery: Nursery) -> list[Tool]:
    """All of them."""
    return [
        SpawnAgent(nursery),
        SendInput(),
        Wait(),
        ResumeAgent(),
        CloseAgent(),
        ListAgents(nursery),
        ListActiveAgents(),
        SetThreadNote(),
        ReadAgent(),
        CreateSession(nursery),
        WaitSession(),
        CancelSession(),
    ]
