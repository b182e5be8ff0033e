"""The application of this package."""

from django.apps import AppConfig


class AlertingConfig(AppConfig):
    """Standings, alerts, notices."""

    name = "alerting"
