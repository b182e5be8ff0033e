"""Tally the runs and scans that ended before there were tallies."""

from django.db import migrations
from django.db.models import Count, Sum


def tally(apps, schema_editor):  # type: ignore[no-untyped-def]
    """One count of all rows, the last one ever."""
    Run, Scan, Tally = (
        apps.get_model(name) for name in ("execution_engine.Run", "execution_engine.Scan", "assay.Tally")
    )
    runs = Run.objects.exclude(outcome="").order_by().values_list("outcome").annotate(Count("pk"))
    rows = [Tally(kind="runs", label=outcome, slot=0, amount=count) for outcome, count in runs]
    ended = Scan.objects.filter(ended_at__isnull=False).order_by().values_list("datacenter")
    for kind, scans in (("scans", ended.filter(error="")), ("scans_failed", ended.exclude(error=""))):
        rows += [Tally(kind=kind, label=place, slot=0, amount=count) for place, count in scans.annotate(Count("pk"))]
    rows += [
        Tally(kind="scan_seconds", label=place, slot=0, amount=seconds)
        for place, seconds in ended.annotate(Sum("seconds"))
    ]
    Tally.objects.bulk_create(rows)


class Migration(migrations.Migration):
    dependencies = [
        ("assay", "0003_watching_itself"),
        ("execution_engine", "0002_part_states"),
    ]

    operations = [migrations.RunPython(tally, migrations.RunPython.noop)]
