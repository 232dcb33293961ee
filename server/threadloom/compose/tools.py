"""The tools that every thread has, with all that they stand on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from threadloom.agent.base import Tool, TurnInput
from threadloom.agent.collab.all import collab_tools
from threadloom.agent.collab.spawning import Nursery
from threadloom.agent.floor import Action, Question
from threadloom.agent.models.base import Catalog
from threadloom.agent.templates.catalog import Catalog as Templates
from threadloom.agent.templates.catalog import Shelf
from threadloom.agent.tools.asking import RequestUserInput
from threadloom.agent.tools.command import Commands, command_tools
from threadloom.agent.tools.deciding import Reviewed
from threadloom.agent.tools.goal import goal_tools
from threadloom.agent.tools.image import ViewImage
from threadloom.agent.tools.patch import ApplyPatch, Patches
from threadloom.agent.tools.plan import UpdatePlan
from threadloom.compose.commands import variables
from threadloom.config import Settings
from threadloom.config.load import Configuration
from threadloom.exec.environment import QUIET
from threadloom.exec.launch import Host

if TYPE_CHECKING:
    from threadloom.agent.tools.review import Guidance


def tools(configuration: Configuration, models: Catalog, host: Host, nursery: Nursery) -> list[Tool]:
    """All of them."""

    async def review(turn: TurnInput, question: Question, action: Action) -> Reviewed:
        from threadloom.agent.tools.review import Reviewer  # most threads never have a review

        return await Reviewer(models.model, partial(_guidance, configuration))(turn, question, action)

    patches = Patches(review)
    commands = Commands(host, partial(variables, configuration, extra=QUIET), review, patches)
    own = [UpdatePlan(), *goal_tools(), *command_tools(commands), ApplyPatch(patches), ViewImage()]
    return [*own, RequestUserInput(), *collab_tools(nursery)]


def nursery(settings: Settings, configuration: Configuration, models: Catalog) -> Nursery:
    """Where agents are made ready, by what holds in the directory they come from."""
    shelf = Shelf()

    def templates(cwd: str) -> Templates:
        return Templates(settings.home, cwd, shelf, configuration.recent(cwd).config.project_root_markers)

    return Nursery(templates, models.of)


def _guidance(configuration: Configuration, cwd: str) -> Guidance:
    """What is configured for reviews in a folder."""
    from threadloom.agent.tools.review import Guidance

    found = configuration.recent(cwd).config.auto_review
    return Guidance(found.model, found.policy)
