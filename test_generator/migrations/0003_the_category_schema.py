"""The category ``schema``. The columns that are declared count from now on; every dataset is left to be reconciled."""

from django.db import migrations, models
from django.utils import timezone


def declare_from_now_on(apps, schema_editor):  # type: ignore[no-untyped-def]
    """Nobody has kept since when a column is declared, so what was written before is held to nothing."""
    now = timezone.now()
    datasets = apps.get_model("assay", "Dataset").objects
    for dataset in datasets.exclude(columns=[]).filter(declared={}).iterator():
        dataset.declared = {column["name"]: now.isoformat() for column in dataset.columns}
        dataset.save(update_fields=["declared"])
    datasets.filter(reconcile_at__isnull=True).update(reconcile_at=now)


class Migration(migrations.Migration):
    dependencies = [
        ("assay", "0016_declared_columns"),
        ("test_generator", "0002_keys_without_nulls"),
    ]

    operations = [
        migrations.AlterField(
            model_name="gap",
            name="category",
            field=models.CharField(
                choices=[
                    ("freshness", "Freshness"),
                    ("completeness", "Completeness"),
                    ("duplicates", "Duplicates"),
                    ("consistency", "Consistency"),
                    ("schema", "Schema"),
                    ("custom", "Custom"),
                ],
                max_length=20,
            ),
        ),
        migrations.RunPython(declare_from_now_on, migrations.RunPython.noop),
    ]
