"""Airflow's tasks that ask Assay before they read, and tell it what they wrote.

What they ask is in ``assay_client``; here is only what Airflow wants of a provider: hook, operators, sensor, triggers.
"""

from typing import Any

__version__ = "0.1.0"


def get_provider_info() -> dict[str, Any]:
    """What Airflow lists of this provider; it is read before any of its modules is imported."""
    return {
        "package-name": "airflow-provider-assay",
        "name": "Assay",
        "description": "Asks Assay whether data may be read, and tells it what was written.",
        "versions": [__version__],
        "integrations": [{"integration-name": "Assay", "external-doc-url": "", "tags": ["service"]}],
        "hooks": [{"integration-name": "Assay", "python-modules": ["assay_airflow.hooks"]}],
        "operators": [{"integration-name": "Assay", "python-modules": ["assay_airflow.operators"]}],
        "sensors": [{"integration-name": "Assay", "python-modules": ["assay_airflow.sensors"]}],
        "triggers": [{"integration-name": "Assay", "python-modules": ["assay_airflow.triggers"]}],
        "connection-types": [
            {
                "connection-type": "assay",
                "hook-class-name": "assay_airflow.hooks.AssayHook",
                "hook-name": "Assay",
                "ui-field-behaviour": {
                    "hidden-fields": ["login", "schema", "port", "extra"],
                    "relabeling": {"host": "URL", "password": "Token"},
                    "placeholders": {"host": "https://assay.example.com"},
                },
                "conn-fields": {
                    "timeout": {
                        "label": "Seconds that one request may take",
                        "schema": {"type": ["integer", "null"], "default": 30},
                    },
                },
            }
        ],
    }
