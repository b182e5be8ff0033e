from django.db import migrations

from assay.models.access import forbid_changes, permit_changes

TABLE = "assay_auditentry"


class Migration(migrations.Migration):

    atomic = False  # MariaDB and MySQL commit with every trigger

    dependencies = [
        ("assay", "0001_initial"),
    ]

    operations = [
        migrations.RunPython(
            lambda apps, editor: forbid_changes(editor, TABLE),
            lambda apps, editor: permit_changes(editor, TABLE),
        ),
    ]
