"""`threadloom chat`: talk to an agent in this terminal, and watch its agents."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Literal

from threadloom.cli.link import OK, USAGE, Failure, Place
from threadloom.cli.link import run as run_command

How = Literal["start", "resume", "fork"]


def run(arguments: Namespace, how: How = "start") -> int:
    """Talk until the person leaves."""

    async def work(place: Place) -> int:
        if arguments.json:
            raise Failure("a chat is for people; `threadloom exec --json` prints events", USAGE)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise Failure("a chat needs a terminal; `threadloom exec` is for scripts", USAGE)
        from threadloom.cli.again import check_folder
        from threadloom.cli.chat.screen import Screen

        check_folder(arguments)

        await Screen(place, arguments, how).run()
        return OK

    return run_command(arguments, work)
