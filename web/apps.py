"""The application of this package."""

from importlib import import_module

from django.apps import AppConfig


class WebConfig(AppConfig):
    """REST API, dashboard, gate."""

    name = "web"

    def ready(self) -> None:
        """Tell the OpenAPI generator of our own authentication."""
        import_module("web.api.schema")
