"""The application of this package."""

from importlib import import_module

from django.apps import AppConfig


class WebConfig(AppConfig):
    """REST API, dashboard, gate."""

    name = "web"

    def ready(self) -> None:
        """Tell the logs of those who sign in."""
        import_module("web.access.logins")
