"""How many rows may lie in no partition; every dataset is left to be reconciled, which writes the test of them."""

from django.db import migrations, models
from django.utils import timezone


def reconcile_again(apps, schema_editor):  # type: ignore[no-untyped-def]
    """At once, as after a change of metadata; datasets that wait already go on waiting."""
    waiting = apps.get_model("assay", "Dataset").objects.filter(reconcile_at__isnull=True)
    waiting.update(reconcile_at=timezone.now())


class Migration(migrations.Migration):
    dependencies = [("assay", "0014_times_in_partition_columns")]

    operations = [
        migrations.AddField(
            model_name="dataset", name="unpartitioned_sla", field=models.FloatField(blank=True, null=True)
        ),
        migrations.RunPython(reconcile_again, migrations.RunPython.noop),
    ]
