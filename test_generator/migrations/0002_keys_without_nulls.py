"""Leaves every dataset to be reconciled: the standard test of duplicates counts rows whose key has a null."""

from django.db import migrations
from django.utils import timezone


def reconcile_again(apps, schema_editor):  # type: ignore[no-untyped-def]
    """At once, as after a change of metadata; datasets that wait already go on waiting."""
    waiting = apps.get_model("assay", "Dataset").objects.filter(reconcile_at__isnull=True)
    waiting.update(reconcile_at=timezone.now())


class Migration(migrations.Migration):
    dependencies = [
        ("assay", "0008_names_without_regard_to_case"),
        ("test_generator", "0001_initial"),
    ]

    operations = [migrations.RunPython(reconcile_again, migrations.RunPython.noop)]
