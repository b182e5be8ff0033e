from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('alerting', '0003_index_of_sending'),
    ]

    operations = [
        migrations.AddField(
            model_name='notice',
            name='sent_with',
            field=models.CharField(blank=True, db_index=True, default='', max_length=190),
            preserve_default=False,
        ),
    ]
