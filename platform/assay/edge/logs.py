"""Structured logs: one event a line, with its ids as key-value pairs, for people or as JSON."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from structlog.typing import Processor

from .control_characters import without_controls

NOTICES = "assay.notices"  # the logger of what people are to be told, which nothing keeps back


def configure_logs(*, level: str, as_json: bool) -> None:
    """Send structlog and the standard library's loggers to standard error in one format."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        without_controls,
    ]
    last: Processor = structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=last, foreign_pre_chain=shared))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("py4j", "pyspark", "kombu", "django.db.backends"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


@contextmanager
def only_warnings() -> Iterator[None]:
    """Keeps back what is less than a warning, for a command that says by itself what it did; notices are told."""
    levels = {logging.getLogger(): logging.WARNING, logging.getLogger(NOTICES): logging.INFO}
    before = {logger: logger.level for logger in levels}
    try:
        for logger, level in levels.items():
            logger.setLevel(level)
        yield
    finally:
        for logger, level in before.items():
            logger.setLevel(level)
