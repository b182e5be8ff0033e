"""Structured logs: one event a line, with its ids as key-value pairs, for people or as JSON."""

import logging
import sys

import structlog
from structlog.typing import Processor

from .control_characters import without_controls


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
