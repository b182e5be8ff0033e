"""Tally the notices that were settled before there were tallies."""

from django.db import migrations


def tally(apps, schema_editor):  # type: ignore[no-untyped-def]
    """One count of all rows, the last one ever."""
    Notice, Tally = apps.get_model("alerting.Notice"), apps.get_model("assay.Tally")
    settled = Notice.objects.filter(settled_at__isnull=False)
    counts = {
        "sent": settled.filter(sent_at__isnull=False).count(),
        "suppressed": settled.exclude(suppressed="").count(),
        "dead": settled.filter(sent_at__isnull=True, suppressed="").count(),
    }
    Tally.objects.bulk_create(
        Tally(kind="notices", label=label, slot=0, amount=count) for label, count in counts.items() if count
    )


class Migration(migrations.Migration):
    dependencies = [
        ("alerting", "0001_initial"),
        ("assay", "0003_watching_itself"),
    ]

    operations = [migrations.RunPython(tally, migrations.RunPython.noop)]
