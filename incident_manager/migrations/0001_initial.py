import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('alerting', '0001_initial'),
        ('assay', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Incident',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('category', models.CharField(choices=[('freshness', 'Freshness'), ('completeness', 'Completeness'), ('duplicates', 'Duplicates'), ('consistency', 'Consistency'), ('schema', 'Schema'), ('column', 'Column'), ('anomaly', 'Anomaly'), ('novelty', 'Novelty'), ('metric', 'Metric'), ('custom', 'Custom')], max_length=20)),
                ('kind', models.CharField(choices=[('detected', 'Detected'), ('reported', 'Reported')], default='detected', max_length=10)),
                ('open_key', models.CharField(max_length=190, null=True, unique=True)),
                ('is_past', models.BooleanField(default=False)),
                ('tier', models.PositiveSmallIntegerField()),
                ('owner', models.CharField(max_length=200)),
                ('team', models.CharField(blank=True, max_length=200)),
                ('detected_at', models.DateTimeField(db_index=True)),
                ('resolved_at', models.DateTimeField(blank=True, db_index=True, null=True)),
                ('resolution', models.CharField(blank=True, choices=[('auto', 'Auto'), ('forced', 'Forced'), ('accepted', 'Accepted'), ('redefined', 'Redefined'), ('withdrawn', 'Withdrawn'), ('fixed', 'Fixed'), ('rejected', 'Rejected')], max_length=10)),
                ('acknowledged_at', models.DateTimeField(blank=True, null=True)),
                ('acknowledged_by', models.CharField(blank=True, max_length=200)),
                ('assigned_to', models.CharField(blank=True, max_length=200)),
                ('root_cause', models.TextField(blank=True)),
                ('eta', models.DateTimeField(blank=True, null=True)),
                ('backfill', models.CharField(blank=True, max_length=200)),
                ('alert', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='incident', to='alerting.alert')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='incidents', to='assay.dataset')),
            ],
        ),
        migrations.CreateModel(
            name='Episode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('opened_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='episodes', to='incident_manager.incident')),
            ],
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('actor', models.CharField(max_length=200)),
                ('event', models.CharField(max_length=30)),
                ('text', models.TextField(blank=True)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='timeline', to='incident_manager.incident')),
            ],
            options={
                'ordering': ('at', 'pk'),
            },
        ),
        migrations.CreateModel(
            name='Ending',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('epoch', models.PositiveIntegerField(default=0, editable=False)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('kind', models.CharField(choices=[('forced', 'Forced'), ('accepted', 'Accepted')], max_length=10)),
                ('scope', models.CharField(choices=[('window', 'window'), ('test', 'test')], max_length=10)),
                ('until', models.DateTimeField(blank=True, null=True)),
                ('reason', models.TextField()),
                ('author', models.CharField(max_length=200)),
                ('said_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, db_index=True, null=True)),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='endings', to='incident_manager.incident')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='LookUp',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('window_start', models.DateTimeField()),
                ('window_end', models.DateTimeField()),
                ('query', models.UUIDField(db_index=True)),
                ('datacenter', models.CharField(blank=True, max_length=60)),
                ('at', models.DateTimeField(db_index=True)),
                ('failed', models.BooleanField()),
                ('incidents', models.JSONField(default=list)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='look_ups', to='assay.dataset')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Publication',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('window_start', models.DateTimeField()),
                ('window_end', models.DateTimeField()),
                ('datacenter', models.CharField(max_length=60)),
                ('partition', models.CharField(max_length=100)),
                ('pointer', models.CharField(max_length=500)),
                ('open_key', models.CharField(max_length=64, null=True, unique=True)),
                ('state', models.CharField(choices=[('audited', 'audited'), ('moving', 'moving'), ('published', 'published'), ('undone', 'undone')], max_length=10)),
                ('fingerprint', models.CharField(max_length=64)),
                ('document', models.JSONField()),
                ('author', models.CharField(max_length=200)),
                ('audited_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('why_not', models.TextField(blank=True)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='publications', to='assay.dataset')),
            ],
        ),
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lease_until', models.DateTimeField(blank=True, editable=False, null=True)),
                ('epoch', models.PositiveIntegerField(default=0, editable=False)),
                ('attempts', models.PositiveIntegerField(default=0, editable=False)),
                ('window_start', models.DateTimeField()),
                ('window_end', models.DateTimeField()),
                ('datacenter', models.CharField(blank=True, max_length=60)),
                ('reporter', models.CharField(max_length=200)),
                ('description', models.TextField()),
                ('saw', models.CharField(choices=[('late', 'Late'), ('rows missing', 'Rows Missing'), ('rows twice', 'Rows Twice'), ('copies differ', 'Copies Differ'), ('values wrong', 'Values Wrong'), ('something else', 'Something Else')], default='something else', max_length=20)),
                ('state', models.CharField(choices=[('open', 'Open'), ('confirmed', 'Confirmed'), ('rejected', 'Rejected'), ('fixed', 'Fixed'), ('withdrawn', 'Withdrawn'), ('joined', 'Joined')], default='open', max_length=10)),
                ('created_at', models.DateTimeField()),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('decided_by', models.CharField(blank=True, max_length=200)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('next_step_at', models.DateTimeField(blank=True, db_index=True, null=True)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='assay.dataset')),
                ('incident', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='report', to='incident_manager.incident')),
                ('joined', models.ManyToManyField(blank=True, related_name='joined_reports', to='incident_manager.incident')),
                ('offered', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='assay.datatest')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='SpoiltWindow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('window_start', models.DateTimeField()),
                ('window_end', models.DateTimeField()),
                ('datacenter', models.CharField(blank=True, max_length=60)),
                ('severity', models.CharField(choices=[('hard', 'Hard'), ('soft', 'Soft')], max_length=4)),
                ('whole_table', models.BooleanField(default=False)),
                ('partitions', models.JSONField(default=list)),
                ('spoilt_at', models.DateTimeField()),
                ('healed_at', models.DateTimeField(blank=True, db_index=True, null=True)),
                ('how', models.CharField(blank=True, choices=[('auto', 'Auto'), ('forced', 'Forced'), ('accepted', 'Accepted'), ('redefined', 'Redefined'), ('withdrawn', 'Withdrawn'), ('fixed', 'Fixed'), ('rejected', 'Rejected')], max_length=10)),
                ('data_test', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='spoilt_windows', to='assay.datatest')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='spoilt_windows', to='assay.dataset')),
                ('ending', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='windows', to='incident_manager.ending')),
                ('incident', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='spoilt_windows', to='incident_manager.incident')),
            ],
        ),
        migrations.CreateModel(
            name='GateOverride',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('window_start', models.DateTimeField()),
                ('window_end', models.DateTimeField()),
                ('pipeline', models.CharField(blank=True, max_length=200)),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField()),
                ('author', models.CharField(max_length=200)),
                ('reason', models.TextField()),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='gate_overrides', to='assay.dataset')),
            ],
            options={
                'indexes': [models.Index(fields=['dataset', 'ends_at'], name='incident_ma_dataset_805d89_idx')],
            },
        ),
        migrations.AddIndex(
            model_name='incident',
            index=models.Index(fields=['dataset', 'category', 'resolved_at'], name='incident_ma_dataset_fc95cb_idx'),
        ),
        migrations.AddIndex(
            model_name='incident',
            index=models.Index(fields=['dataset', 'resolved_at'], name='incident_ma_dataset_d25cc5_idx'),
        ),
        migrations.AddIndex(
            model_name='episode',
            index=models.Index(fields=['closed_at', 'opened_at', 'incident'], name='incident_ma_closed__680d95_idx'),
        ),
        migrations.AddIndex(
            model_name='publication',
            index=models.Index(fields=['dataset', 'state', 'window_start'], name='incident_ma_dataset_8121bf_idx'),
        ),
        migrations.AddIndex(
            model_name='spoiltwindow',
            index=models.Index(fields=['dataset', 'healed_at', 'window_start'], name='incident_ma_dataset_aa7e9d_idx'),
        ),
    ]
