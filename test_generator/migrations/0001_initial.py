import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('assay', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='RuleTemplate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=128, unique=True)),
                ('source', models.CharField(db_index=True, max_length=100)),
                ('said', models.JSONField()),
                ('author', models.CharField(blank=True, max_length=200)),
                ('changed_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Gap',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('epoch', models.PositiveIntegerField(default=0, editable=False)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('category', models.CharField(choices=[('freshness', 'Freshness'), ('completeness', 'Completeness'), ('duplicates', 'Duplicates'), ('consistency', 'Consistency'), ('schema', 'Schema'), ('column', 'Column'), ('anomaly', 'Anomaly'), ('novelty', 'Novelty'), ('metric', 'Metric'), ('custom', 'Custom')], max_length=20)),
                ('template', models.CharField(blank=True, default='', max_length=128)),
                ('reason', models.CharField(max_length=500)),
                ('mendable', models.BooleanField(default=True)),
                ('since', models.DateTimeField()),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('next_report_at', models.DateTimeField(blank=True, db_index=True, null=True)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='gaps', to='assay.dataset')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PastReading',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('epoch', models.PositiveIntegerField(default=0, editable=False)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('datacenter', models.CharField(max_length=60)),
                ('asked_at', models.DateTimeField()),
                ('asked_by', models.CharField(blank=True, max_length=200)),
                ('ended_at', models.DateTimeField(blank=True, db_index=True, null=True)),
                ('windows', models.PositiveIntegerField(default=0)),
                ('first_window', models.CharField(blank=True, max_length=120)),
                ('last_window', models.CharField(blank=True, max_length=120)),
                ('problem', models.CharField(blank=True, max_length=500)),
                ('dataset', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='past_reading', to='assay.dataset')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Offer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule', models.CharField(max_length=60)),
                ('columns', models.JSONField(default=list)),
                ('assertion', models.TextField()),
                ('why', models.TextField()),
                ('cost', models.CharField(max_length=60)),
                ('fitted', models.PositiveIntegerField()),
                ('held', models.PositiveIntegerField()),
                ('tried', models.PositiveIntegerField()),
                ('offered_at', models.DateTimeField()),
                ('state', models.CharField(choices=[('offered', 'Offered'), ('accepted', 'Accepted'), ('rejected', 'Rejected')], default='offered', max_length=10)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('decided_by', models.CharField(blank=True, max_length=200)),
                ('reason', models.CharField(blank=True, max_length=1000)),
                ('data_test', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='offers', to='assay.datatest')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='offers', to='assay.dataset')),
            ],
            options={
                'indexes': [models.Index(fields=['dataset', 'state'], name='test_genera_dataset_c7dd3a_idx')],
            },
        ),
    ]
