from django.db import migrations, models


class Migration(migrations.Migration):
    """The new index first: while it is made, claims still go by the old one."""

    dependencies = [
        ("assay", "0006_audit_only_grows"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="datatest",
            index=models.Index(fields=["next_due_at", "dataset"], name="assay_datat_next_du_5eca65_idx"),
        ),
        migrations.AlterField(
            model_name="datatest",
            name="next_due_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
