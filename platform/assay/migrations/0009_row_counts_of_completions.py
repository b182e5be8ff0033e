from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("assay", "0008_names_without_regard_to_case")]

    operations = [
        migrations.AddField("datachange", "run", models.CharField(blank=True, max_length=100)),
        migrations.AddField("datachange", "rows", models.PositiveBigIntegerField(blank=True, null=True)),
        migrations.AddField(
            "datachange",
            "mode",
            models.CharField(
                blank=True, choices=[("append", "Append"), ("overwrite", "Overwrite")], max_length=10
            ),
        ),
    ]
