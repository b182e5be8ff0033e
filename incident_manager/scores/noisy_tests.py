"""Noisy tests: those whose alarms were false, whose notices people muted, or that warned of what passed by itself."""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count, F, Q

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
    incidents: set[int] = field(default_factory=set)

    @property
    def newest_incident(self) -> int | None:
        """What its notices can be muted by."""
        return max(self.incidents, default=None)

    @property
    def rank(self) -> tuple[timedelta, int, int]:
        """What it is ordered by: a false alarm wakes people, who mute what comes too often; a warning wakes nobody."""
        return self.false_time, self.muted, self.warnings


def noisy_tests(
    *, start: datetime, end: datetime, most: int, hidden: Collection[int] = ()
) -> list[tuple[DataTest, Noise]]:
    """The noisiest live tests of a range first, without those of hidden datasets, in four statements."""
    noises = defaultdict[int, Noise](Noise)
    spoilt = SpoiltWindow.objects.exclude(data_test__dataset__in=hidden).filter(data_test__isnull=False)
    tests, incidents, hows, beginnings, endings = columns_of(
        spoilt.filter(Q(healed_at__isnull=True) | Q(healed_at__gt=start), spoilt_at__lt=end).annotate(
            begun=instant_text(F("spoilt_at")), ended=instant_text(F("healed_at"))
        ),
        *("data_test", "incident", "how", "begun", "ended"),
    )
    first, last = microseconds(start), microseconds(end)
    lengths = ends_of(endings).clip(first, last) - instants_of(beginnings).clip(first, last)
    for test, incident, how, length in zip(tests, incidents, hows, lengths.tolist(), strict=True):
        noise = noises[test]
        noise.incidents.add(incident)
        noise.alarms += 1
        if ENDED[how] in FALSE:
            noise.false_alarms += 1
            noise.false_time += timedelta(microseconds=length)
    silenced = Notice.objects.filter(suppressed=Hush.SILENCED, settled_at__gte=start, settled_at__lt=end)
    counts = silenced.exclude(alert__incident=None).order_by().values_list("alert__incident").annotate(Count("pk"))
    muted = Counter[int](dict(counts))
    for noise in noises.values():
        noise.muted = sum(muted[incident] for incident in noise.incidents)
    passed = Flip.objects.filter(old=State.WARN, new=State.PASS, at__gte=start, at__lt=end)
    passed = passed.exclude(data_test__dataset__in=hidden)
    for test, count in passed.order_by().values_list("data_test").annotate(Count("pk")):
        noises[test].warnings = count
    noisy = [pk for pk, noise in noises.items() if any(noise.rank)]
    noisy.sort(key=lambda pk: (noises[pk].rank, pk), reverse=True)
    live = DataTest.objects.filter(retired_at__isnull=True).select_related("dataset")
    rows = live.in_bulk(noisy[: 2 * most])  # some of them are retired
    return [(rows[pk], noises[pk]) for pk in noisy if pk in rows][:most]
