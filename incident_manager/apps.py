"""The application of this package."""

from django.apps import AppConfig


class IncidentManagerConfig(AppConfig):
    """Incidents, checks, annotations, reports, scores."""

    name = "incident_manager"
