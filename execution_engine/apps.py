"""The execution engine's application."""

from django.apps import AppConfig


class ExecutionEngineConfig(AppConfig):
    """Language, planner, metrics, Spark, scans, runs."""

    name = "execution_engine"
