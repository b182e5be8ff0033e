"""The application of this package."""

from django.apps import AppConfig


class GeneratorConfig(AppConfig):
    """Standard tests from profiles, user tests as code."""

    name = "test_generator"
