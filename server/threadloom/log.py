"""Logs: to stderr, never to stdout, which belongs to the protocol. `LOG_FORMAT=json` for machines."""

from __future__ import annotations

import os
import sys
from typing import Any


class Logger:
    """A logger that costs nothing until it has something to say: structlog is imported with the first line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._log: Any = None

    def info(self, event: str, **values: Any) -> None:
        """Something worth knowing."""
        self._write("info", event, values)

    def warning(self, event: str, **values: Any) -> None:
        """Something to look at."""
        self._write("warning", event, values)

    def error(self, event: str, **values: Any) -> None:
        """Something broke."""
        self._write("error", event, values)

    def _write(self, level: str, event: str, values: dict[str, Any]) -> None:
        if self._log is None:
            self._log = _structlog().get_logger().bind(logger=self._name)
        getattr(self._log, level)(event, **values)


def logger(name: str) -> Logger:
    """The logger of a module."""
    return Logger(name)


def _structlog() -> Any:
    import structlog

    if not structlog.is_configured():
        json = os.environ.get("LOG_FORMAT") == "json"
        structlog.configure(
            processors=[
                structlog.contextvars.merge_contextvars,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                *([structlog.processors.format_exc_info] if json else []),
                structlog.processors.JSONRenderer()
                if json
                else structlog.dev.ConsoleRenderer(
                    colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
                ),
            ],
            logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        )
    return structlog
