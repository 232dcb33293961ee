"""Words of the command line → what to run."""

from __future__ import annotations

import argparse
import os
from typing import Any

from threadloom import __version__
from threadloom.cli.late import late


def parse(words: list[str]) -> argparse.Namespace:
    """The parsed command; its `run` does the work and gives the exit code."""
    return parser(only_server=_command(words) == "app-server").parse_args(words)


def _command(words: list[str]) -> str | None:
    """The first word that is no flag and belongs to none."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 1 if "=" in words[at] and words[at].startswith("--") else 2
    return words[at] if at < len(words) else None


def parser(*, only_server: bool = False) -> argparse.ArgumentParser:
    """All of it, for completion scripts too; a server that starts does not wait for what is not about it."""
    parser = _Parser(
        prog="threadloom", description="An app server for AI coding agents: a tree of threads behind one protocol."
    )
    parser.add_argument("--version", action="version", version=f"threadloom {__version__}")
    _common(parser, default=[])
    parser.set_defaults(serves=False)  # whether it runs a server
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    if not only_server:
        from threadloom.cli import commands as others

        others.add(commands, lambda it: _common(it, default=argparse.SUPPRESS))
        _doctor(commands)
    _app_server(commands)
    return parser


class _Format(argparse.HelpFormatter):
    """As wide as the terminal, found out without what argparse would import for it at every start."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        pass
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:  # it is no terminal
        return 80


class _Parser(argparse.ArgumentParser):
    def __init__(self, **how: Any) -> None:
        super().__init__(formatter_class=_Format, **how)


def _common(parser: argparse.ArgumentParser, default: Any) -> None:
    parser.add_argument(
        "-c", "--config", action=_Gather, default=default, metavar="KEY=VALUE", help="override a setting; VALUE is TOML"
    )
    for flag, text in (("--enable", "switch a feature on"), ("--disable", "switch a feature off")):
        parser.add_argument(flag, action=_Gather, default=default, metavar="FEATURE", help=text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not seconds >= 0:  # `nan` is not, either
        raise argparse.ArgumentTypeError(f"takes a number from 0 on, not {text!r}")
    return seconds


class _Gather(argparse.Action):
    """Like `append`, but what was given before and after the subcommand adds up."""

    def __call__(self, parser: object, space: argparse.Namespace, value: Any, option: str | None = None) -> None:
        setattr(space, self.dest, [*(getattr(space, self.dest, None) or []), value])


def _app_server(commands: Any) -> None:
    server = commands.add_parser("app-server", help="run the server", description="Run the app server.")
    _common(server, default=argparse.SUPPRESS)
    server.add_argument(
        "--listen",
        default="stdio://",
        metavar="URL",
        help="stdio:// (default), ws://IP:PORT (port 0 takes a free one), unix://[PATH], off",
    )
    server.add_argument(
        "--stdio", action="store_const", dest="listen", const="stdio://", help="same as --listen stdio://"
    )
    server.add_argument(
        "--drain", type=_seconds, default=0.0, metavar="SECONDS", help="wait for running turns at a stop"
    )
    server.add_argument("--strict-config", action="store_true", help="refuse unknown keys in config.toml")
    server.add_argument("--analytics-default-enabled", action="store_true", help="accepted; there are no analytics")
    _auth(server.add_argument_group("who may connect over WebSocket"))
    server.set_defaults(run=late("threadloom.cli.opening", "run"), serves=True)
    tools = server.add_subparsers(title="generators", metavar="")
    for name, what in (("generate-ts", "TypeScript bindings"), ("generate-json-schema", "JSON Schema files")):
        tool = tools.add_parser(name, help=f"write the {what} of the protocol")
        tool.add_argument("--out", required=True, metavar="DIR", help="folder to write to; made if it is not there")
        tool.add_argument("--experimental", action="store_true", help="with experimental methods and members")
        tool.set_defaults(run=late("threadloom.cli.generate", name.replace("-", "_")), serves=False)


def _doctor(commands: Any) -> None:
    doctor = commands.add_parser(
        "doctor", help="say what works here and what does not", description="Say what works here and what does not."
    )
    _common(doctor, default=argparse.SUPPRESS)
    doctor.add_argument("--json", action="store_true", help="as one JSON object")
    doctor.set_defaults(run=late("threadloom.cli.doctor", "run"))


def _auth(group: Any) -> None:
    group.add_argument(
        "--ws-auth", choices=("capability-token", "signed-bearer-token"), help="how peers prove themselves"
    )
    group.add_argument("--ws-token-file", metavar="PATH", help="file that holds the capability token")
    group.add_argument("--ws-token-sha256", metavar="HEX", help="SHA-256 of the capability token, instead of a file")
    group.add_argument(
        "--ws-shared-secret-file", metavar="PATH", help="file with the secret of signed tokens (≥ 32 bytes)"
    )
    group.add_argument("--ws-issuer", metavar="NAME", help="issuer that signed tokens must name")
    group.add_argument("--ws-audience", metavar="NAME", help="audience that signed tokens must name")
    group.add_argument(
        "--ws-max-clock-skew-seconds", type=int, metavar="N", help="tolerance for exp and nbf (default 30)"
    )
    group.add_argument(
        "--allow-origin", action="append", default=[], metavar="ORIGIN", help="web origin that may connect; repeatable"
    )
