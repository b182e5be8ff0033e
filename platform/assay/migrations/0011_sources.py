from collections import Counter
from pathlib import PurePath
from typing import Any

from django.db import migrations, models

PREFIX = "yaml:"


def name_sources(apps: Any, editor: Any) -> None:
    """Call each file's source by its stem, or by its whole name where two have one; tests get the source they are of."""
    told = {model: apps.get_model("assay", model) for model in ("Dataset", "LineageEdge", "Revision", "DataTest")}
    models_of_source = [told["Dataset"], told["LineageEdge"]]
    old = {
        name
        for model in models_of_source
        for name in model.objects.filter(source__startswith=PREFIX).values_list("source", flat=True).distinct()
    }
    written = told["Revision"].objects.filter(number=1, author__startswith=PREFIX, data_test__origin="user")
    old |= set(written.values_list("author", flat=True).distinct())
    stems = Counter(PurePath(name.removeprefix(PREFIX)).stem for name in old)
    for name in old:
        file = PurePath(name.removeprefix(PREFIX))
        new = file.stem if stems[file.stem] == 1 else file.name
        for model in models_of_source:
            model.objects.filter(source=name).update(source=new)
        told["DataTest"].objects.filter(pk__in=written.filter(author=name).values("data_test")).update(source=new)


class Migration(migrations.Migration):

    dependencies = [
        ('assay', '0010_changes_followed_in_pieces'),
    ]

    operations = [
        migrations.CreateModel(
            name='Source',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('epoch', models.PositiveIntegerField(default=0, editable=False)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('name', models.CharField(max_length=100, unique=True)),
                ('place', models.CharField(blank=True, max_length=1000)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddField(
            model_name='datatest',
            name='missing_since',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='datatest',
            name='source',
            field=models.CharField(blank=True, db_index=True, max_length=100),
        ),
        migrations.AlterField(
            model_name='dataset',
            name='source',
            field=models.CharField(db_index=True, default='push', max_length=100),
        ),
        migrations.AlterField(
            model_name='lineageedge',
            name='source',
            field=models.CharField(default='push', max_length=100),
        ),
        migrations.RunPython(name_sources, migrations.RunPython.noop),
    ]
