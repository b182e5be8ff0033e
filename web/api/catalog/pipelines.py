"""Pipelines: what they completed, and how good that is."""

import time
from collections.abc import Iterable, Sequence
from threading import BoundedSemaphore
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay import clock
from assay.access import Action
from assay.catalog.services import UnableToComplete
from assay.models import Binding, ChangeKind, DataChange, WriteMode
from incident_manager.gate.services import MOST_OUTPUTS, MOST_REASONS, UnableToName, as_json
from incident_manager.services import WrittenWindow, answer_on, complete, look_up, unjudged
from web.access.changes import audited
from web.access.who import may, owned, person_of, unreadable
from web.api.consumption import gate as gates
from web.api.consumption import quality
from web.api.consumption.answers import CompletionVerdict, PipelineAnswer
from web.api.conventions.base import Api
from web.api.conventions.fields import DatasetField, Shape
from web.api.conventions.openapi import with_example
from web.api.conventions.problems import Wrong

LONGEST_WAIT = 300  # seconds
LOOK_EVERY = 0.5  # seconds
MOST_WAITING = 2  # requests of one web process, half of its threads: the others go on answering
RECENT = 50  # outputs shown

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


class CompletionQuery(Shape):
    """Which completions to ask about: their numbers with commas between, as POST answers them; else the newest.

    One request names at most as many completions as one POST may have outputs.
    """

    completions = serializers.RegexField(
        rf"^[1-9][0-9]{{0,17}}(,[1-9][0-9]{{0,17}}){{0,{MOST_OUTPUTS - 1}}}$", required=False, max_length=1000
    )


class Completed(Api):
    """POST the outputs of a pipeline that has ended; GET whether they have been judged by now."""

    @extend_schema(parameters=[CompletionQuery], responses=CompletionVerdict)
    def get(self, request: Request, name: str) -> Response:
        """Ask whether the outputs of a pipeline are judged by now.

        The answer is that of POST, for completions that were sent before: a program that waits for tests asks again and
        again. Without ``completions`` it is about the newest completion of each dataset. Datasets that you may not read
        are left out.
        """
        asked = self.asked(CompletionQuery).get("completions")
        numbers = [int(number) for number in asked.split(",")] if asked else None
        rows = _newest_outputs(name) if numbers is None else _completions(name, numbers)
        found = [change for change in rows if may(request, Action.ASK, change.dataset)]
        if numbers is not None and (missing := sorted(set(numbers) - {change.pk for change in found})):
            raise Wrong(
                f"{name!r} has no completion {', '.join(map(str, missing))}.",
                where="completions",
                mend="Send the numbers that the answer to POST gave under completions.",
            )
        return Response(_told(found, pipeline=name, waits_for=unjudged(found, now=clock.now())))

    @extend_schema(request=Completion, responses={201: CompletionVerdict})
    def post(self, request: Request, name: str) -> Response:
        """Report what a pipeline has written, and have it tested.

        The answer is the gate's on the outputs, and whether every test that this triggers has judged them. With
        ``wait`` the answer comes when they all have, or so many seconds later. Outputs that you may not read are taken,
        and left out of the answer.
        """
        given, now = self.given(Completion), clock.now()
        for output in given["outputs"]:
            gates.demand_replica(output["dataset"], output["datacenter"])
            output["window"] = gates.read_window(output["dataset"], output["window"], where="outputs")
        written = [WrittenWindow(**output) for output in given["outputs"]]
        try:
            with audited(request, "pipeline.completed", kind="pipeline", key=name, given={"outputs": given["outputs"]}):
                changes = complete(name, written, run=given["run"], now=now)
        except UnableToComplete as unable:
            raise Wrong(str(unable), where="name" if isinstance(unable, UnableToName) else "outputs") from None
        shown = [each for each in changes if unreadable(person_of(request), Action.ASK, owned(each.dataset)) is None]
        waits_for = wait_until_judged(shown, seconds=given["wait"])
        return Response(_told(shown, pipeline=name, waits_for=waits_for), status=201)


class PipelineQuality(Api):
    """GET how good the outputs of a pipeline are."""

    @extend_schema(responses=PipelineAnswer)
    def get(self, request: Request, name: str) -> Response:
        """Ask how good the outputs of a pipeline are.

        The answer has the newest window of each dataset that the pipeline completed, and the tests to which the
        pipeline is bound. Datasets that you may not read are left out.
        """
        outputs = [
            look_up(dataset=c.dataset, window=c.window, datacenter=c.datacenter, now=clock.now(), record=False)
            for c in _newest_outputs(name)
            if may(request, Action.READ, c.dataset)
        ]
        bindings = [
            {"dataset": row.dataset.full_name, "test": row.test, "gate": row.strength}
            for row in Binding.objects.filter(pipeline=name).select_related("dataset").order_by("pk")
            if may(request, Action.READ, row.dataset)
        ]
        found = [quality.written(answer) for answer in outputs]
        return Response({"pipeline": name, "outputs": found, "bindings": bindings})


def wait_until_judged(changes: Iterable[DataChange], *, seconds: float) -> list[str]:
    """What is not judged after so many seconds of real time, of the runs that the completions trigger; empty: nothing.

    It waits only if fewer than ``MOST_WAITING`` do.
    """
    wanted = list(changes)
    may_wait = seconds > 0 and _places.acquire(blocking=False)
    try:
        end = time.monotonic() + (seconds if may_wait else 0)
        while (reasons := unjudged(wanted, now=clock.now())) and time.monotonic() < end:
            time.sleep(min(LOOK_EVERY, seconds))
        return reasons
    finally:
        if may_wait:
            _places.release()


def _told(changes: Sequence[DataChange], *, pipeline: str, waits_for: Sequence[str]) -> dict[str, Any]:
    """The gate's answer on what was completed, with the numbers by which one asks again."""
    answer = answer_on(changes, pipeline=pipeline, now=clock.now())
    told = {"judged": not waits_for, "waits_for": waits_for[:MOST_REASONS]}
    return {**told, "completions": [change.pk for change in changes], **as_json(answer)}


def _completions(pipeline: str, numbers: list[int]) -> list[DataChange]:
    completions = DataChange.objects.filter(pipeline=pipeline, kind=ChangeKind.COMPLETED, pk__in=numbers)
    return list(completions.select_related("dataset").prefetch_related("dataset__replicas").order_by("pk"))


def _newest_outputs(pipeline: str) -> list[DataChange]:
    completions = DataChange.objects.filter(pipeline=pipeline, kind=ChangeKind.COMPLETED)
    newest: dict[tuple[int, str], DataChange] = {}
    related = completions.select_related("dataset").prefetch_related("dataset__replicas")
    for change in related.order_by("-window_start", "-pk")[: RECENT * 20]:
        newest.setdefault((change.dataset_id, change.datacenter), change)
    return list(newest.values())[:RECENT]
