"""The shapes of what look-ups and the gate answer, as the OpenAPI document tells them."""

from typing import Any

from rest_framework import serializers

from assay.models import Category
from incident_manager.gate.rules import GateDecision
from incident_manager.quality.rules import Status
from web.api.conventions.fields import Spanned, WindowField

STATUSES = [status.value for status in Status]
DECISIONS = [decision.value for decision in GateDecision]


class GateReason(serializers.Serializer[Any]):
    """A reason for the gate's decision, about one dataset."""

    decision = serializers.ChoiceField(DECISIONS)
    dataset = serializers.CharField()
    datacenter = serializers.CharField(
        allow_null=True, help_text="null: the reason is about a source, or about the answer itself"
    )
    window = WindowField(help_text="from the first to the last window that the reason is about, START/END")
    text = serializers.CharField()
    test = serializers.CharField(allow_null=True, help_text="the data test's name")
    incident = serializers.IntegerField(allow_null=True)
    report = serializers.IntegerField(allow_null=True)


class GateVerdict(serializers.Serializer[Any]):
    """The gate's decision: that of its strictest reason."""

    decision = serializers.ChoiceField(DECISIONS)
    status = serializers.ChoiceField(STATUSES, help_text="the worst quality of all that is read, as look-ups answer it")
    reasons = GateReason(many=True)


class CompletionVerdict(GateVerdict):
    """The gate's decision on the outputs of a pipeline, and whether their tests have ended."""

    judged = serializers.BooleanField(help_text="whether all tests that the completion triggered have ended")
    waits_for = serializers.ListField(
        child=serializers.CharField(), help_text="what is not judged yet, and what that waits for; the first 10"
    )
    completions = serializers.ListField(
        child=serializers.IntegerField(), help_text="numbers of the completions, to ask again by"
    )


class QualityReason(serializers.Serializer[Any]):
    """A reason for the quality of a range."""

    status = serializers.ChoiceField(STATUSES, allow_null=True, help_text="null: the reason only explains")
    text = serializers.CharField()
    category = serializers.ChoiceField(Category.choices, allow_null=True)
    test = serializers.CharField(allow_null=True, help_text="the data test's name")
    hard = serializers.BooleanField()
    windows = serializers.ListField(child=WindowField(), help_text="the first 50")
    more_windows = serializers.IntegerField()
    incident = serializers.IntegerField(allow_null=True)
    report = serializers.IntegerField(allow_null=True)


class QualityIncident(serializers.Serializer[Any]):
    """An incident whose bad windows lie in a range."""

    id = serializers.IntegerField()
    category = serializers.ChoiceField(Category.choices)
    root_cause = serializers.CharField(allow_blank=True)
    eta = serializers.DateTimeField(allow_null=True)
    hard = serializers.BooleanField()
    windows = serializers.ListField(child=WindowField(), help_text="the first 50")
    more_windows = serializers.IntegerField()


class KnownQuality(serializers.Serializer[Any]):
    """The quality of a table."""

    dataset = serializers.CharField()
    status = serializers.ChoiceField(STATUSES)
    reasons = QualityReason(many=True)
    incidents = QualityIncident(many=True)
    reports = serializers.ListField(child=serializers.IntegerField(), help_text="reports that nobody has decided")


class RangeQuality(Spanned, KnownQuality):
    """The quality of a range of a dataset in one datacenter."""

    datacenter = serializers.CharField()


class TableQuality(RangeQuality):
    """The quality of a table that was looked up; without range and datacenter where the catalog lacks it."""

    span_may_be_null = True
    datacenter = serializers.CharField(allow_null=True)


class QueryAnswer(serializers.Serializer[Any]):
    """The quality of all tables that a query reads."""

    status = serializers.ChoiceField(STATUSES, help_text="the worst status of the tables")
    tables = TableQuality(many=True)
    unknown = serializers.ListField(child=serializers.CharField(), help_text="tables that the catalog lacks")
    widened = serializers.BooleanField(help_text="whether many ranges were answered as one for each table")


class BulkAnswer(serializers.Serializer[Any]):
    """The quality of many ranges."""

    status = serializers.ChoiceField(STATUSES, help_text="the worst status of the answers")
    answers = TableQuality(
        many=True, help_text="one answer for each range, in their order; each reason lists its first 3 windows"
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
