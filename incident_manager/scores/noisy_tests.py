"""Noisy tests: those whose alarms were false, whose notices people muted, or that warned of what passed by itself."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, Max, Q

from alerting.models import Flip, Notice
from alerting.notices.policy import Hush
from alerting.state import State
from assay.models import DataTest
from incident_manager.incidents.lifecycle import ENDED, FALSE
from incident_manager.models import SpoiltWindow

from .facts import columns_of, ends_of, instant_text, instants_of
from .rules import microseconds


@dataclass(kw_only=True)
class Noise:
    """What of a test's alarms in a range was not confirmed; times are added up over windows."""

    alarms: int = 0  # windows that it spoilt
    false_alarms: int = 0
    false_time: timedelta = timedelta(0)
    muted: int = 0  # notices of its incidents
    warnings: int = 0  # that passed before they were an alarm
    newest_incident: int | None = None  # what its notices can be muted by

    @property
    def rank(self) -> tuple[timedelta, int, int]:
        """What it is ordered by: a false alarm wakes people, who mute what comes too often; a warning wakes nobody."""
        return self.false_time, self.muted, self.warnings


def noisy_tests(
    *, start: datetime, end: datetime, most: int, hidden: Collection[int] = ()
) -> list[tuple[DataTest, Noise]]:
    """The noisiest live tests of a range first, without those of hidden datasets, in six statements."""
    noises = defaultdict[int, Noise](Noise)
    spoilt = SpoiltWindow.objects.exclude(data_test__dataset__in=hidden).filter(data_test__isnull=False)
    spoilt = (
        spoilt.filter(incident__is_past=False)
        .filter(Q(healed_at__isnull=True) | Q(healed_at__gt=start), spoilt_at__lt=end)
        .order_by()
    )
    tests, beginnings, endings = columns_of(
        spoilt.filter(how__in=[name for name, how in ENDED.items() if how in FALSE]).annotate(
            begun=instant_text(F("spoilt_at")), ended=instant_text(F("healed_at"))
        ),
        *("data_test", "begun", "ended"),
    )
    first, last = microseconds(start), microseconds(end)
    lengths = ends_of(endings).clip(first, last) - instants_of(beginnings).clip(first, last)
    for test, length in zip(tests, lengths.tolist(), strict=True):
        noises[test].false_alarms += 1
        noises[test].false_time += timedelta(microseconds=length)
    silenced = Notice.objects.filter(suppressed=Hush.SILENCED, settled_at__gte=start, settled_at__lt=end)
    counts = silenced.exclude(alert__incident=None).order_by().values_list("alert__incident").annotate(Count("pk"))
    muted = dict(counts)
    for test, incident in spoilt.filter(incident__in=muted).values_list("data_test", "incident").distinct():
        noises[test].muted += muted[incident]
    passed = Flip.objects.filter(old=State.WARN, new=State.PASS, at__gte=start, at__lt=end)
    passed = passed.exclude(data_test__dataset__in=hidden)
    for test, count in passed.order_by().values_list("data_test").annotate(Count("pk")):
        noises[test].warnings = count
    noisy = [pk for pk, noise in noises.items() if any(noise.rank)]
    noisy.sort(key=lambda pk: (noises[pk].rank, pk), reverse=True)
    live = DataTest.objects.filter(retired_at__isnull=True).select_related("dataset")
    rows = live.in_bulk(noisy[: 2 * most])  # some of them are retired
    noisiest = [pk for pk in noisy if pk in rows][:most]
    alarms = spoilt.filter(data_test__in=noisiest).values_list("data_test")
    for test, count, newest in alarms.annotate(Count("pk"), Max("incident")):
        noises[test].alarms, noises[test].newest_incident = count, newest
    return [(rows[pk], noises[pk]) for pk in noisiest]
