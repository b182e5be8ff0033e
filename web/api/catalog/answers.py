"""The shapes of what lineage and backtests answer, as the OpenAPI document tells them."""

from typing import Any

from rest_framework import serializers

from assay.models import Severity
from execution_engine.outcome import Outcome
from web.api.conventions.fields import LengthField, Spanned, WindowField
from web.shown.status import ShownStatus


class LineageDataset(serializers.Serializer[Any]):
    """A dataset in a graph of lineage."""

    name = serializers.CharField()
    tier = serializers.IntegerField()
    status = serializers.ChoiceField([status.value for status in ShownStatus])
    hops = serializers.IntegerField(help_text="from the dataset that was asked for; negative upstream")


class Edge(serializers.Serializer[Any]):
    """An edge of lineage: the downstream dataset is made of the upstream one."""

    upstream = serializers.CharField()
    downstream = serializers.CharField()
    one_to_one = serializers.BooleanField()
    keys = serializers.DictField(
        child=serializers.CharField(), help_text="columns of the downstream's primary key, with their names upstream"
    )


class LineageGraph(serializers.Serializer[Any]):
    """The lineage around one dataset."""

    datasets = LineageDataset(many=True)
    edges = Edge(many=True)


class HeardEvent(serializers.Serializer[Any]):
    """What Assay took from an event of OpenLineage."""

    edges = serializers.IntegerField()
    completions = serializers.IntegerField()
    unknown = serializers.ListField(child=serializers.CharField(), help_text="datasets that the catalog lacks")


class RaisedFigures(serializers.Serializer[Any]):
    """What a test would have raised under one rule."""

    held = serializers.IntegerField()
    broken = serializers.IntegerField()
    unjudged = serializers.IntegerField()
    alerts = serializers.IntegerField()
    notices = serializers.IntegerField()
    alerts_a_week = serializers.FloatField(allow_null=True)
    notices_a_week = serializers.FloatField(allow_null=True)
    precision = serializers.FloatField(allow_null=True)
    recall = serializers.FloatField(allow_null=True)


class OtherBound(RaisedFigures):
    """What a test would have raised with another bound."""

    assertion = serializers.CharField()
    looser = serializers.BooleanField()


class LiveSpan(serializers.Serializer[Any]):
    """An incident that was open in the range of a backtest."""

    opened_at = serializers.DateTimeField()
    resolved_at = serializers.DateTimeField(allow_null=True)
    windows = serializers.ListField(child=WindowField())
    told_at = serializers.DateTimeField(allow_null=True)


class ForetoldSpan(LiveSpan):
    """An incident that a test would have opened."""

    seconds = serializers.FloatField()
    muted_by = serializers.CharField(allow_null=True, allow_blank=True)


class BacktestWindow(serializers.Serializer[Any]):
    """What a backtest says of one window."""

    window = WindowField()
    key = serializers.CharField()
    due_at = serializers.DateTimeField()
    outcome = serializers.ChoiceField([outcome.value for outcome in Outcome])
    value = serializers.FloatField(allow_null=True)
    sentence = serializers.CharField(allow_blank=True)
    results = serializers.IntegerField()
    measured_late = serializers.BooleanField()
    changed_since = serializers.BooleanField()


class BacktestAnswer(Spanned, RaisedFigures):
    """What a test would have raised over the past."""

    dataset = serializers.CharField()
    test = serializers.CharField(allow_null=True)
    revision = serializers.IntegerField(allow_null=True)
    assertion = serializers.CharField()
    severity = serializers.ChoiceField(Severity.choices)
    sustain = LengthField()
    grace = LengthField()
    incidents = ForetoldSpan(many=True)
    live_incidents = LiveSpan(many=True)
    bounds = OtherBound(many=True)
    windows = BacktestWindow(many=True)
    not_measured = serializers.ListField(child=WindowField())
    cannot_be_known = serializers.DictField(
        child=serializers.CharField(), help_text="why the test cannot judge a window, by window"
    )
    scans_needed = serializers.IntegerField()
    seconds_needed = serializers.FloatField(allow_null=True)
