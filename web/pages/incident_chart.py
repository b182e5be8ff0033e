"""The chart of an incident: the values of its worst test from the last good windows to now, with what happened when.

It is a part of the page, and a file, as SVG and as PNG, so that a link to the page shows it where it unfolds.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from hashlib import blake2s

from django.contrib.auth.models import User
from django.core import signing
from django.db.models import F
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.translation import gettext, override

from alerting.alerts.texts import LIFE
from alerting.channels import Picture
from alerting.models import Notice, Standing
from alerting.state import LOG
from assay import clock
from assay.access import Action, may_read
from assay.accounts import person_called
from assay.catalog.deploys import deploys_of
from assay.catalog.selectors import owned
from assay.charts.drawing import WIDE, Chart, Mark, draw
from assay.config import config
from assay.models import DataTest
from assay.time.windows import zone
from execution_engine.language.serialise import from_json
from execution_engine.models import Run, RunReason
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil
from incident_manager.models import Incident, SpoiltWindow
from web.rendering.charts import ChartUnit, Plot, WindowResult, chart_of, plot_of, unit_of
from web.rendering.measures import measure_of
from web.rendering.status import plain

from .days import history, judged_runs
from .page_policy import PageMessage, Zoom, demand, page

GOOD_WINDOWS = 14  # before the first bad one that are drawn
MOST_RERUNS = 10  # that are marked, the newest
MOST_DEPLOYS = 5  # that are marked, the newest
MOST = 200  # of its bad windows, the newest
IN_MESSAGES = 480  # pixels: a phone shows it at two thirds of that
SALT = "web.pages.incident_chart"


def worst_test(incident: Incident) -> tuple[DataTest, Sequence[datetime]] | None:
    """The test that the title is about, with the starts of its bad windows; of an incident that is over, a last one."""
    rows = SpoiltWindow.objects.filter(incident=incident, data_test__revision__isnull=False)
    spoilt = list(rows.select_related("data_test__revision", "data_test__dataset").order_by("-window_start")[:MOST])
    bad = [row for row in spoilt if row.healed_at is None] or spoilt
    if not bad:
        return None
    standings = Standing.objects.filter(
        data_test__in={row.data_test_id for row in bad}, window_start__in={row.window_start for row in bad}
    )
    worst = standings.order_by(F("excess").desc(nulls_last=True), "-window_start").values_list("data_test").first()
    chosen = next((row for row in bad if worst is not None and row.data_test_id == worst[0]), bad[0])
    assert chosen.data_test is not None
    return chosen.data_test, [row.window_start for row in spoilt if row.data_test_id == chosen.data_test_id]


@dataclass(frozen=True, kw_only=True)
class IncidentSeries:
    """What the chart of an incident draws."""

    results: Sequence[WindowResult]
    unit: ChartUnit
    title: str
    zone: tzinfo
    period: tuple[datetime, datetime]
    marks: Sequence[Mark]

    def plot(self) -> Plot:
        """For the page."""
        return plot_of(self.results, self.unit, title=self.title, zone=self.zone, period=self.period, marks=self.marks)

    def chart(self, incident: Incident) -> Chart:
        """For where no page is around it: its title says what it is of."""
        title = f"{incident.dataset.full_name}: {plain(incident.category)} #{incident.pk}"
        return chart_of(self.results, self.unit, title=title, zone=self.zone, period=self.period, marks=self.marks)


def series_of(incident: Incident, veil: Veil, now: datetime) -> IncidentSeries | None:
    """Its worst test from the last good windows to now; None where no test found it."""
    worst = worst_test(incident)
    if worst is None:
        return None
    test, starts = worst
    first, last = min(starts), incident.resolved_at or now
    earlier = judged_runs(test).filter(window_start__lt=first).order_by("-window_start")
    good = earlier.values_list("window_start", flat=True).distinct()[:GOOD_WINDOWS]
    results = history(test, veil, Zoom(start=min(good, default=first), end=last))
    assert test.revision is not None
    marks, start = marks_of(incident, test), min([first, *(result.start for result in results)])
    deploys = deploys_of(test.dataset, start, last)[:MOST_DEPLOYS]
    marks += [Mark(at=row.at, label=gettext("deploy %(version)s") % {"version": row.version[:12]}) for row in deploys]
    latest = max([first, *(result.start for result in results), *(mark.at for mark in marks)])
    end = min(max(last, latest), latest + (latest - start) / 2)  # a long time in which nothing happens is cut off
    return IncidentSeries(
        results=results,
        unit=unit_of(from_json(test.revision.tree), test.category),
        title=measure_of(test),
        zone=zone(test.dataset.time_zone),
        period=(start, end),
        marks=marks,
    )


def marks_of(incident: Incident, test: DataTest) -> list[Mark]:
    """When it was opened, told, acknowledged, run again with what came of it, is expected to be, and was healed."""
    notices = Notice.objects.filter(alert=incident.alert_id, sent_at__isnull=False).exclude(channel=LOG)
    first_sent = notices.order_by("sent_at").values_list("sent_at", flat=True).first() if incident.alert_id else None
    instants = [
        (incident.detected_at, gettext("opened")),
        (first_sent, gettext("told")),
        (incident.acknowledged_at, gettext("acknowledged")),
        (None if incident.resolved_at else incident.eta, gettext("expected")),
        (incident.resolved_at, gettext("resolved")),
    ]
    marks = [Mark(at=at, label=label) for at, label in instants if at is not None]
    reruns = [entry.at for entry in incident.timeline.all() if entry.event == "rerun"][-MOST_RERUNS:]
    runs = Run.objects.filter(data_test=test, reason=RunReason.MANUAL, requested_at__in=reruns)
    outcomes = defaultdict[datetime, list[str]](list)
    for at, outcome in runs.values_list("requested_at", "outcome"):
        outcomes[at].append(outcome)
    for at in reruns:
        held, total = sum(outcome == Outcome.HELD for outcome in outcomes[at]), len(outcomes[at])
        label = gettext("run again: %(held)s of %(count)s hold") % {"held": held, "count": total}
        marks.append(Mark(at=at, label=label if total else gettext("run again")))
    return marks


def svg_of(chart: Chart, width: float = WIDE) -> str:
    """The SVG with its colours and its title in it."""
    return draw(chart, key="incident", width=width, is_picture=True)


def png_of(svg: str) -> bytes:
    """The picture of an SVG."""
    from assay.charts.picture import picture_of  # with it the renderer, for what asks for a picture

    return picture_of(svg)


@page
def chart_file(request: HttpRequest, pk: int, form: str) -> HttpResponse:
    """The chart as a file for whoever may read the page; asked again with its ETag, only that it has not changed."""
    incident = Incident.objects.select_related("dataset", "alert").filter(pk=pk).first()
    if incident is None:
        raise Http404(PageMessage(gettext("There is no incident %(id)s.") % {"id": pk}))
    demand(request, Action.READ, incident)
    now = clock.now()
    series = series_of(incident, Veil(now), now)
    if series is None:
        raise Http404(PageMessage(gettext("No test has found incident %(id)s: there is nothing to draw.") % {"id": pk}))
    svg = svg_of(series.chart(incident))
    etag = f'"{blake2s(svg.encode(), digest_size=8).hexdigest()}-{form}"'
    if (unchanged := get_conditional_response(request, etag=etag)) is not None:
        return unchanged
    body, media_type = (png_of(svg), "image/png") if form == "png" else (svg.encode(), "image/svg+xml")
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie, Accept-Language"}
    return HttpResponse(body, content_type=media_type, headers=headers)


# The chart in messages: mails bring it, and services fetch it without a login, at an address that only we can make.


def picture_for(alert: int, recipient: str, *, is_drawn: bool = True) -> Picture | None:
    """The chart of an alert's incident, for a recipient who may read its values; None where there is nothing to see.

    A service can fetch it for a week where ``ASSAY_PUBLIC_URL`` begins with https, as it takes no other pictures.
    Without ``is_drawn`` only its address and its words are given, as it is drawn when it is fetched.
    """
    base = config().public_url.rstrip("/")
    can_be_fetched = base.startswith("https://")
    if not is_drawn and not can_be_fetched:
        return None
    incident = Incident.objects.select_related("dataset", "alert").filter(alert=alert).first()
    if incident is None or not may_read(person_called(recipient), owned(incident.dataset)):
        return None
    now = clock.now()
    with override("en"):  # whatever the language of whoever caused the message
        series = series_of(incident, Veil(now), now)
        if series is None or all(result.value is None for result in series.results):
            return None
        chart = series.chart(incident)
    return Picture(
        png=png_of(svg_of(chart, IN_MESSAGES)) if is_drawn else b"",
        text=f"{chart.title}. {chart.description}".strip(),
        url=f"{base}/charts/{signing.dumps([alert, recipient], salt=SALT)}.png" if can_be_fetched else "",
    )


def sent_chart(request: HttpRequest, token: str) -> HttpResponse:
    """The chart of a message that was sent in the last week, for whoever has its address."""
    try:
        alert, recipient = signing.loads(token, salt=SALT, max_age=LIFE)
    except signing.BadSignature:
        raise Http404("not signed by us, or too old") from None
    is_shut_out = User.objects.filter(username=recipient, is_active=False).exists()
    if is_shut_out or (picture := picture_for(alert, recipient)) is None:
        raise Http404("nothing to draw, or not for this recipient any more")
    return HttpResponse(picture.png, content_type="image/png")
