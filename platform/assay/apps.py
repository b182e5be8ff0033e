"""The core application."""

from django.apps import AppConfig


class CoreConfig(AppConfig):
    """Catalog, data tests and the clock."""

    name = "assay"
