from django.db import migrations, models


class Migration(migrations.Migration):
    """The column of a turn was called ``tier``, as it was before it was more than that."""

    dependencies = [
        ('execution_engine', '0010_numbers_with_every_digit'),
    ]

    operations = [
        migrations.RenameIndex(
            model_name='run',
            new_name='execution_e_planned_807b42_idx',
            old_name='execution_e_planned_ac9682_idx',
        ),
        migrations.RenameIndex(
            model_name='scan',
            new_name='execution_e_ended_a_db6c50_idx',
            old_name='execution_e_ended_a_59f7d5_idx',
        ),
        migrations.AlterField(
            model_name='run',
            name='turn',
            field=models.PositiveSmallIntegerField(default=5),
        ),
        migrations.AlterField(
            model_name='scan',
            name='turn',
            field=models.PositiveSmallIntegerField(default=5),
        ),
    ]
