"""Rows for tests: each factory writes a plausible row, and a test says only what matters to it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import factory
from factory.django import DjangoModelFactory

from alerting.models import Alert, Notice, Standing
from assay.catalog.dataset_rows import write_tellings
from assay.catalog.profile import COMPUTED, BusinessMetricDefinition
from assay.catalog.selectors import profile_of
from assay.catalog.tellings import telling_of
from assay.models import CatchUp, Category, Dataset, DataTest, LineageEdge, Origin, Replica, Revision, Severity
from assay.time.windows import Granularity, Window
from execution_engine.language.business_metric import with_datasets
from execution_engine.language.parse import parse, parse_expression
from execution_engine.language.serialise import to_json, to_text
from execution_engine.models import Run
from execution_engine.outcome import Outcome
from incident_manager.models import Entry, Episode, Incident, Report, SpoiltWindow
from test_generator.definition import Definition
from test_generator.models import Offer
from test_generator.services import revise

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def day(key: str) -> Window:
    """The UTC day with this date."""
    start = datetime.fromisoformat(key).replace(tzinfo=UTC)
    return Window(start=start, end=start + DAY)


class _Windowed(DjangoModelFactory[Any]):
    """Takes ``window=`` for the two columns of it."""

    class Meta:
        abstract = True
        exclude = ("window",)

    window = day("2026-03-09")
    window_start = factory.LazyAttribute(lambda row: row.window.start)
    window_end = factory.LazyAttribute(lambda row: row.window.end)


class DatasetFactory(DjangoModelFactory[Dataset]):
    """A daily table of tier 2 with one replica, at home in ``sea``; ``datacenters=`` names others."""

    class Meta:
        model = Dataset
        skip_postgeneration_save = True

    namespace = "raw"
    name = factory.Sequence(lambda n: f"table_{n}")
    owner = "ada"
    team = "trips"
    tier = 2
    columns = factory.LazyFunction(lambda: [{"name": "id", "type": "bigint"}, {"name": "fare", "type": "double"}])
    primary_key = factory.LazyFunction(lambda: ["id"])
    partition_column = "datestr"
    granularity = Granularity.DAY.value
    source = "yaml:catalog.yaml"
    created_at = NOW - 60 * DAY
    changed_at = NOW - 60 * DAY

    @factory.post_generation
    def datacenters(self: Dataset, create: bool, extracted: tuple[str, ...] | None, **_: object) -> None:
        """Write the replicas, home first."""
        for position, datacenter in enumerate(extracted or ("sea",)):
            Replica.objects.create(
                dataset=self,
                datacenter=datacenter,
                position=position,
                storage="parquet",
                location=f"/lake/{datacenter}/{self.name}",
            )
        if self.missing_since is None:
            write_tellings([telling_of(profile_of(self))], source=self.source, full=False, now=self.created_at)


class OfferFactory(DjangoModelFactory[Offer]):
    """A suggestion for a column that held on the six windows that tried it."""

    class Meta:
        model = Offer

    dataset = factory.SubFactory(DatasetFactory)
    rule = "HasMin"
    columns = factory.LazyFunction(lambda: ["fare"])
    assertion = "min(fare) >= 0"
    why = "the lowest number was 0"
    cost = "shares the one pass"
    fitted = 24
    held = 6
    tried = 6
    offered_at = NOW


class LineageEdgeFactory(DjangoModelFactory[LineageEdge]):
    """An edge between two datasets."""

    class Meta:
        model = LineageEdge

    upstream = factory.SubFactory(DatasetFactory)
    downstream = factory.SubFactory(DatasetFactory)
    one_to_one = True


def new_business_metric(source: Dataset, expression: str = "row_count()", **more: Any) -> Dataset:
    """A business metric of the source's owner, computed from it alone."""
    definition = BusinessMetricDefinition(
        expression=expression,
        canonical=to_text(with_datasets(parse_expression(expression), source.full_name)),
        sources=(source.full_name,),
    )
    told = {"namespace": "business", "owner": source.owner, "source": source.source, "columns": [], "primary_key": []}
    row: Dataset = DatasetFactory.create(**{**told, **more}, business_metric=definition.to_json())
    row.replicas.update(storage=COMPUTED, location="")
    LineageEdgeFactory.create(upstream=source, downstream=row)
    return row


class DataTestFactory(DjangoModelFactory[DataTest]):
    """A live hard test with its first revision; ``assertion=``, ``severity=`` and ``sustain=`` go into that."""

    class Meta:
        model = DataTest

    dataset = factory.SubFactory(DatasetFactory)
    name = factory.Sequence(lambda n: f"custom-{n}")
    category = Category.CUSTOM
    origin = Origin.USER
    datacenter = "sea"
    created_at = NOW - 60 * DAY

    @classmethod
    def _create(cls, model_class: type[DataTest], *args: Any, **kwargs: Any) -> DataTest:
        assertion = kwargs.pop("assertion", "row_count() >= 100")
        severity = kwargs.pop("severity", Severity.HARD)
        sustain = kwargs.pop("sustain", 4 * HOUR)
        schedule = kwargs.pop("schedule", "partition")
        catch_up = kwargs.pop("catch_up", CatchUp.ALL)
        data_test = super()._create(model_class, *args, **kwargs)
        data_test.revision = Revision.objects.create(
            data_test=data_test,
            number=1,
            assertion=assertion,
            tree=to_json(parse(assertion)),
            severity=severity,
            schedule=schedule,
            sustain=sustain,
            catch_up=catch_up,
            created_at=data_test.created_at,
            rejudged_at=data_test.created_at,
        )
        data_test.save()
        return data_test


class RunFactory(_Windowed):
    """A scheduled run that was evaluated and judged: it held."""

    class Meta:
        model = Run

    data_test = factory.SubFactory(DataTestFactory)
    revision = factory.LazyAttribute(lambda run: run.data_test.revision)
    reason = "schedule"
    slot = factory.Sequence(lambda n: f"slot-{n}")
    requested_at = factory.LazyAttribute(lambda run: run.window_end + 6 * HOUR)
    due_at = factory.SelfAttribute("requested_at")
    planned_at = factory.SelfAttribute("requested_at")
    ready_at = factory.SelfAttribute("requested_at")
    evaluated_at = factory.SelfAttribute("requested_at")
    judged_at = factory.SelfAttribute("requested_at")
    measured_at = factory.SelfAttribute("requested_at")
    outcome = Outcome.HELD.value
    sentence = "row_count() is 120, at least 100"
    value = 120.0


class StandingFactory(_Windowed):
    """A standing that passes."""

    class Meta:
        model = Standing

    data_test = factory.SubFactory(DataTestFactory)
    revision = factory.LazyAttribute(lambda standing: standing.data_test.revision)
    window_key = factory.LazyAttribute(lambda s: Window(start=s.window_start, end=s.window_end).text)
    state = "PASS"
    since = factory.LazyAttribute(lambda standing: standing.window_end + 6 * HOUR)
    due_at = factory.LazyAttribute(lambda standing: standing.window_end + 6 * HOUR)
    last_outcome = Outcome.HELD.value
    value = 120.0
    sentence = "row_count() is 120, at least 100"


class IncidentFactory(DjangoModelFactory[Incident]):
    """An open detected incident of a dataset's custom tests, with its episode, alert and first timeline entry."""

    class Meta:
        model = Incident

    dataset = factory.SubFactory(DatasetFactory)
    category = Category.CUSTOM
    open_key = factory.LazyAttribute(lambda incident: f"{incident.dataset.pk}:{incident.category}")
    tier = factory.LazyAttribute(lambda incident: incident.dataset.tier)
    owner = factory.LazyAttribute(lambda incident: incident.dataset.owner)
    team = factory.LazyAttribute(lambda incident: incident.dataset.team)
    detected_at = NOW - 5 * HOUR

    @classmethod
    def _create(cls, model_class: type[Incident], *args: Any, **kwargs: Any) -> Incident:
        alert = Alert.objects.create(
            dataset=kwargs["dataset"],
            category=kwargs["category"],
            open_key=kwargs["open_key"],
            owner=kwargs["owner"],
            opened_at=kwargs["detected_at"],
        )
        incident = super()._create(model_class, *args, alert=alert, **kwargs)
        Episode.objects.create(incident=incident, opened_at=incident.detected_at, closed_at=incident.resolved_at)
        Entry.objects.create(incident=incident, at=incident.detected_at, actor="assay", event="opened")
        return incident


class SpoiltWindowFactory(_Windowed):
    """An unhealed hard spoilt window of an incident."""

    class Meta:
        model = SpoiltWindow

    incident = factory.SubFactory(IncidentFactory)
    dataset = factory.LazyAttribute(lambda spoilt: spoilt.incident.dataset)
    data_test = None
    datacenter = ""
    severity = Severity.HARD
    spoilt_at = factory.LazyAttribute(lambda spoilt: spoilt.incident.detected_at)


class NoticeFactory(DjangoModelFactory[Notice]):
    """A notice that was sent to the owner by email."""

    class Meta:
        model = Notice

    key = factory.Sequence(lambda n: f"notice-{n}")
    event = "opened"
    channel = "email"
    recipient = "ada"
    subject = "Data is bad"
    body = "Data is bad."
    created_at = NOW - 4 * HOUR
    due_at = NOW - 4 * HOUR
    settled_at = NOW - 4 * HOUR
    sent_at = NOW - 4 * HOUR


class ReportFactory(_Windowed):
    """A user's open claim."""

    class Meta:
        model = Report

    dataset = factory.SubFactory(DatasetFactory)
    reporter = "grace"
    description = "Fares look doubled."
    created_at = NOW - HOUR


def revised(test: DataTest, *, author: str, now: datetime, **changed: Any) -> DataTest:
    """The test with a new revision in which this is changed, if it is."""
    return revise(test, replace(Definition.of(test.revision), **changed), author=author, now=now)
