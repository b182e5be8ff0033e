from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import F


def begin_with_who_works_on_it(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Whoever has acknowledged an incident works on it."""
    taken_up = apps.get_model("incident_manager", "Incident").objects.filter(acknowledged_at__isnull=False)
    taken_up.update(assigned_to=F("acknowledged_by"))


class Migration(migrations.Migration):
    dependencies = [("incident_manager", "0009_publications")]

    operations = [
        migrations.AddField(
            model_name="incident",
            name="assigned_to",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.RunPython(begin_with_who_works_on_it, migrations.RunPython.noop),
    ]
