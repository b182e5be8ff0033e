"""Pipelines: what they completed, and how good that is."""

import time
from collections.abc import Sequence
from datetime import timedelta
from threading import BoundedSemaphore
from typing import Any

from django.core.validators import URLValidator
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.access import Action
from assay.catalog.deploys import record_deploy
from assay.catalog.services import UnableToComplete
from assay.models import Binding, ChangeKind, DataChange, WriteMode
from incident_manager.gate.services import MOST_OUTPUTS, MOST_REASONS, UnableToName, as_json
from incident_manager.services import WrittenWindow, answer_on, complete, look_up, unjudged
from web.access.changes import audited
from web.access.who import may, owned, person_of, unreadable

from .base import Api
from .fields import DatasetField, InstantField, Shape
from .gate import GateVerdict, demand_replica, read_window
from .openapi import with_example
from .problems import Wrong, refusing
from .quality import RangeQuality, qualities_as_json

LONGEST_WAIT = 300  # seconds
LOOK_EVERY = 0.5  # seconds
MOST_WAITING = 2  # requests of one web process, half of its threads: the others go on answering
RECENT = 50  # outputs shown
CLOCKS_APART = timedelta(minutes=5)  # that those of CI and of Assay may be

_places = BoundedSemaphore(MOST_WAITING)


class Output(Shape):
    """A window that a pipeline has written: START/END, or a partition's key.

    A dataset without an upstream needs ``rows``. Rows of several runs add up; those of a run that overwrites (``mode``)
    replace the rows that were sent before.
    """

    dataset = DatasetField()
    window = serializers.CharField(max_length=100)
    datacenter = serializers.CharField(required=False, default="", max_length=60)
    rows = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=0, max_value=2**63 - 1)
    mode = serializers.ChoiceField(WriteMode.choices, required=False, default="")


@with_example({"outputs": [{"dataset": "raw.trips", "window": "2026-03-09", "rows": 1_250_000}], "wait": 60})
class Completion(Shape):
    """What a pipeline has written; with ``wait`` the answer comes when all of it is judged, or so many seconds later.

    Where too many requests wait already, the answer comes at once with ``judged`` false: ask the gate again. The rows
    of a ``run`` count once, however often it is sent.
    """

    outputs = Output(many=True, allow_empty=False, max_length=MOST_OUTPUTS)  # type: ignore[call-arg]
    run = serializers.CharField(required=False, default="", max_length=100)
    wait = serializers.FloatField(required=False, default=0, min_value=0, max_value=LONGEST_WAIT)


@with_example({"pattern": "mart.*", "version": "4f9c2d1", "url": "https://git.example.com/fares/commit/4f9c2d1"})
class DeployEvent(Shape):
    """Code that writes data was deployed: of one ``dataset``, of all whose names fit a ``pattern``, or of an ``owner``.

    An owner is a person or a team. Without ``at`` it is deployed now.
    """

    dataset = DatasetField(required=False, default=None)
    pattern = serializers.CharField(required=False, default="", max_length=300, help_text="of names, as in mart.*")
    owner = serializers.CharField(required=False, default="", max_length=200)
    version = serializers.CharField(max_length=200, help_text="or the commit")
    url = serializers.CharField(
        required=False, default="", max_length=1000, validators=[URLValidator(schemes=["http", "https"])]
    )
    at = InstantField(required=False, default=None)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """What was deployed, at an instant that has come."""
        if sum(map(bool, (attrs["dataset"], attrs["pattern"], attrs["owner"]))) != 1:
            raise serializers.ValidationError({"dataset": "name what was deployed by one of dataset, pattern, owner"})
        now = clock.now()
        if attrs["at"] and attrs["at"] > now + CLOCKS_APART:
            raise serializers.ValidationError({"at": f"it is {now:%Y-%m-%d %H:%M} UTC: post a deploy once it was made"})
        return {**attrs, "at": attrs["at"] or now}


class DeployAnswer(serializers.Serializer[Any]):
    """What is kept of a deploy."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    datasets = serializers.IntegerField(help_text="how many known datasets it touches")


class CompletionQuery(Shape):
    """Which completions to ask about: their numbers with commas between, as POST answers them; else the newest.

    One request names at most as many completions as one POST may have outputs.
    """

    completions = serializers.RegexField(
        rf"^[1-9][0-9]{{0,17}}(,[1-9][0-9]{{0,17}}){{0,{MOST_OUTPUTS - 1}}}$", required=False, max_length=1000
    )


class CompletionVerdict(GateVerdict):
    """The gate's decision on the outputs of a pipeline, and whether their tests have ended."""

    judged = serializers.BooleanField(help_text="whether all tests that the completion triggered have ended")
    waits_for = serializers.ListField(
        child=serializers.CharField(), help_text="what is not judged yet, and what that waits for; the first 10"
    )
    completions = serializers.ListField(
        child=serializers.IntegerField(), help_text="numbers of the completions, to ask again by"
    )


class BoundTo(serializers.Serializer[Any]):
    """A test to which a pipeline is bound."""

    dataset = serializers.CharField()
    test = serializers.CharField()
    gate = serializers.ChoiceField(["strong", "weak"], help_text="strong: it blocks; weak: it only warns")


class PipelineAnswer(serializers.Serializer[Any]):
    """The quality of the outputs of a pipeline, and the tests to which it is bound."""

    pipeline = serializers.CharField()
    outputs = RangeQuality(many=True)
    bindings = BoundTo(many=True)


class Completed(Api):
    """POST the outputs of a pipeline that has ended; GET whether they have been judged by now."""

    @extend_schema(parameters=[CompletionQuery], responses=CompletionVerdict)
    def get(self, request: Request, name: str) -> Response:
        """Ask whether the outputs of a pipeline are judged by now.

        The answer is that of POST, for completions that were sent before: a program that waits for tests asks again and
        again. Without ``completions`` it is about the newest completion of each dataset. Datasets that you may not read
        are left out.
        """
        text = self.read_query(CompletionQuery).get("completions")
        numbers = [int(number) for number in text.split(",")] if text else None
        rows = _newest_outputs(name) if numbers is None else _completions(name).filter(pk__in=numbers).order_by("pk")
        visible = [change for change in rows if may(request, Action.ASK, change.dataset)]
        if numbers is not None and (missing := sorted(set(numbers) - {change.pk for change in visible})):
            raise Wrong(
                f"{name!r} has no completion {', '.join(map(str, missing))}.",
                where="completions",
                mend="Send the numbers that the answer to POST gave under completions.",
            )
        return Response(_verdict(visible, pipeline=name, waits_for=unjudged(visible, now=clock.now())))

    @extend_schema(request=Completion, responses={201: CompletionVerdict})
    def post(self, request: Request, name: str) -> Response:
        """Report what a pipeline has written, and have it tested.

        The answer is the gate's on the outputs, and whether every test that this triggers has judged them. With
        ``wait`` the answer comes when they all have, or so many seconds later. Outputs that you may not read are taken,
        and left out of the answer.
        """
        body, now = self.read_body(Completion), clock.now()
        for output in body["outputs"]:
            demand_replica(output["dataset"], output["datacenter"])
            output["window"] = read_window(output["dataset"], output["window"], where="outputs")
        written = [WrittenWindow(**output) for output in body["outputs"]]
        with (
            refusing(UnableToComplete, where="outputs"),
            refusing(UnableToName, where="name"),
            audited(request, "pipeline.completed", kind="pipeline", key=name, details={"outputs": body["outputs"]}),
        ):
            changes = complete(name, written, run=body["run"], now=now)
        person = person_of(request)
        visible = [change for change in changes if unreadable(person, Action.ASK, owned(change.dataset)) is None]
        waits_for = wait_until_judged(visible, seconds=body["wait"])
        return Response(_verdict(visible, pipeline=name, waits_for=waits_for), status=201)


class Deploys(Api):
    """POST that code which writes data was deployed."""

    @extend_schema(request=DeployEvent, responses={201: DeployAnswer})
    def post(self, request: Request) -> Response:
        """Report a deploy, so that incidents show it among what changed before.

        The same deploy sent again with its ``at`` is kept once.
        """
        body = self.read_body(DeployEvent)
        with audited(request, "deploy.create", kind="deploy", details=body) as change:
            row, datasets = record_deploy(**body, author=request.user.get_username())
            change.key = row.pk
        return Response({"id": row.pk, "at": row.at, "datasets": datasets}, status=201)


class PipelineQuality(Api):
    """GET how good the outputs of a pipeline are."""

    @extend_schema(responses=PipelineAnswer)
    def get(self, request: Request, name: str) -> Response:
        """Ask how good the outputs of a pipeline are.

        The answer has the newest window of each dataset that the pipeline completed, and the tests to which the
        pipeline is bound. Datasets that you may not read are left out.
        """
        now = clock.now()
        outputs = [
            look_up(dataset=c.dataset, window=c.window, datacenter=c.datacenter, now=now, record=False)
            for c in _newest_outputs(name)
            if may(request, Action.READ, c.dataset)
        ]
        bindings = [
            {"dataset": row.dataset.full_name, "test": row.test, "gate": row.strength}
            for row in Binding.objects.filter(pipeline=name).select_related("dataset").order_by("pk")
            if may(request, Action.READ, row.dataset)
        ]
        return Response({"pipeline": name, "outputs": qualities_as_json(outputs, now=now), "bindings": bindings})


def wait_until_judged(changes: Sequence[DataChange], *, seconds: float) -> list[str]:
    """What is not judged after so many seconds of real time, of the runs that the completions trigger; empty: nothing.

    It waits only if fewer than ``MOST_WAITING`` do.
    """
    may_wait = seconds > 0 and _places.acquire(blocking=False)
    try:
        end = time.monotonic() + (seconds if may_wait else 0)
        while (reasons := unjudged(changes, now=clock.now())) and time.monotonic() < end:
            time.sleep(min(LOOK_EVERY, seconds))
        return reasons
    finally:
        if may_wait:
            _places.release()


def _verdict(changes: Sequence[DataChange], *, pipeline: str, waits_for: Sequence[str]) -> dict[str, Any]:
    """The gate's answer on what was completed, with the numbers by which one asks again."""
    progress = {"judged": not waits_for, "waits_for": waits_for[:MOST_REASONS]}
    answer = as_json(answer_on(changes, pipeline=pipeline, now=clock.now()))
    return {**progress, "completions": [change.pk for change in changes], **answer}


def _completions(pipeline: str) -> QuerySet[DataChange]:
    rows = DataChange.objects.filter(pipeline=pipeline, kind=ChangeKind.COMPLETED)
    return rows.select_related("dataset").prefetch_related("dataset__replicas")


def _newest_outputs(pipeline: str) -> list[DataChange]:
    newest: dict[tuple[int, str], DataChange] = {}
    for change in _completions(pipeline).order_by("-window_start", "-pk")[: RECENT * 20]:
        newest.setdefault((change.dataset_id, change.datacenter), change)
    return list(newest.values())[:RECENT]
