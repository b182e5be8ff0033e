from django.db import migrations, models

RUN, SCAN = "execution_e_planned_ac9682_idx", "execution_e_ended_a_59f7d5_idx"


class Migration(migrations.Migration):
    """A name, and nothing that the database would notice: the columns and their indexes stay as they are."""

    dependencies = [
        ('execution_engine', '0006_whose_turn'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex(model_name='run', name=RUN),
                migrations.RemoveIndex(model_name='scan', name=SCAN),
                migrations.RenameField(model_name='run', old_name='tier', new_name='turn'),
                migrations.RenameField(model_name='scan', old_name='tier', new_name='turn'),
                migrations.AlterField(
                    model_name='run',
                    name='turn',
                    field=models.PositiveSmallIntegerField(db_column='tier', default=5),
                ),
                migrations.AlterField(
                    model_name='scan',
                    name='turn',
                    field=models.PositiveSmallIntegerField(db_column='tier', default=5),
                ),
                migrations.AddIndex(
                    model_name='run',
                    index=models.Index(fields=['planned_at', 'turn', 'due_at'], name=RUN),
                ),
                migrations.AddIndex(
                    model_name='scan',
                    index=models.Index(fields=['ended_at', 'datacenter', 'turn'], name=SCAN),
                ),
            ],
        ),
    ]
