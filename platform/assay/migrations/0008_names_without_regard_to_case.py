from datetime import UTC, datetime
from typing import Any

from django.db import migrations, models

from assay.database.name_keys import name_key


def give_keys(apps: Any, editor: Any) -> None:
    """Give each dataset the key of its name; where several have one, those that came later get a name of their own."""
    Dataset, AuditEntry = apps.get_model("assay", "Dataset"), apps.get_model("assay", "AuditEntry")
    taken = set()
    for row in sorted(Dataset.objects.all(), key=lambda row: (row.missing_since is not None, row.pk)):
        told, number = row.full_name, 1
        base = row.name[:110]
        while (key := name_key(row.full_name)) in taken:
            number += 1
            row.name = f"{base}-{number}"
            row.full_name = f"{row.namespace}.{row.name}"
        taken.add(key)
        row.name_key = key
        row.save(update_fields=["name", "full_name", "name_key"])
        if row.full_name != told:
            AuditEntry.objects.create(
                at=datetime.now(UTC),
                actor="assay",
                via="migration",
                action="dataset.renamed",
                object_kind="dataset",
                object_id=row.full_name,
                before={"name": told},
                after={"name": row.full_name},
            )


class Migration(migrations.Migration):
    dependencies = [
        ("assay", "0007_claims_by_dataset"),
    ]

    operations = [
        migrations.AddField("dataset", "name_key", models.CharField(editable=False, max_length=32, null=True)),
        migrations.RunPython(give_keys, migrations.RunPython.noop),
        migrations.AlterField("dataset", "name_key", models.CharField(editable=False, max_length=32, unique=True)),
        migrations.AlterField("dataset", "full_name", models.CharField(db_index=True, editable=False, max_length=241)),
    ]
