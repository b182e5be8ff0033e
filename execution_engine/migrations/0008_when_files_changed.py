from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import F


def begin_with_the_last_look(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Nobody knows when the files changed; they have not since they were last seen to."""
    apps.get_model("execution_engine", "Watch").objects.exclude(fingerprint="").update(changed_at=F("seen_at"))


class Migration(migrations.Migration):
    dependencies = [("execution_engine", "0007_turns")]

    operations = [
        migrations.AddField(
            model_name="watch",
            name="changed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunPython(begin_with_the_last_look, migrations.RunPython.noop),
    ]
