from django.db import migrations

from assay.database.append_only import forbid, permit

TABLE = "assay_auditentry"


class Migration(migrations.Migration):

    atomic = False  # MariaDB and MySQL commit with every trigger

    dependencies = [
        ("assay", "0001_initial"),
    ]

    operations = [
        migrations.RunPython(
            lambda apps, editor: forbid(editor, TABLE),
            lambda apps, editor: permit(editor, TABLE),
        ),
    ]
