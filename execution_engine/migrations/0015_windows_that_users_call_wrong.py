import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("assay", "0025_values_by_reader"),
        ("execution_engine", "0014_backfills_and_looks_of_scans"),
    ]

    operations = [
        migrations.AddField(
            model_name="exclusion",
            name="data_test",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="assay.datatest"
            ),
        ),
        migrations.AddField(
            model_name="release",
            name="is_wrong",
            field=models.BooleanField(default=False),
        ),
    ]
