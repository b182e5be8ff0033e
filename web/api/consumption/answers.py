"""The shapes of what look-ups and the gate answer, as the OpenAPI document tells them."""

from typing import Any

from rest_framework import serializers

from assay.models import Category
from incident_manager.gate.rules import GateDecision
from incident_manager.quality.rules import Status
from web.api import examples
from web.api.conventions.fields import Spanned, WindowField
from web.api.conventions.openapi import shown_by

STATUSES = [status.value for status in Status]
DECISIONS = [decision.value for decision in GateDecision]


class GateReason(serializers.Serializer[Any]):
    """Why the gate decides so of one dataset."""

    decision = serializers.ChoiceField(DECISIONS)
    dataset = serializers.CharField()
    datacenter = serializers.CharField(allow_null=True, help_text="null: of a source, or of the answer itself")
    window = WindowField(help_text="from the first to the last of what it is about, START/END")
    text = serializers.CharField()
    test = serializers.CharField(allow_null=True, help_text="the data test's name")
    incident = serializers.IntegerField(allow_null=True)
    report = serializers.IntegerField(allow_null=True)


@shown_by(examples.GATE_VERDICT)
class GateVerdict(serializers.Serializer[Any]):
    """What the gate decides: the strictest of its reasons."""

    decision = serializers.ChoiceField(DECISIONS)
    status = serializers.ChoiceField(STATUSES, help_text="the worst quality of all that is read, as look-ups answer it")
    reasons = GateReason(many=True)


@shown_by(examples.COMPLETION_VERDICT)
class CompletionVerdict(GateVerdict):
    """What the gate says of the outputs of a pipeline."""

    judged = serializers.BooleanField(help_text="whether all that was triggered has been judged")
    waits_for = serializers.ListField(
        child=serializers.CharField(), help_text="what is not judged yet, and what that waits for; the first 10"
    )
    completions = serializers.ListField(child=serializers.IntegerField(), help_text="by these numbers one asks again")


class QualityReason(serializers.Serializer[Any]):
    """One thing that is known of the range."""

    status = serializers.ChoiceField(STATUSES, allow_null=True, help_text="null: it only explains")
    text = serializers.CharField()
    category = serializers.ChoiceField(Category.choices, allow_null=True)
    test = serializers.CharField(allow_null=True, help_text="the data test's name")
    hard = serializers.BooleanField()
    windows = serializers.ListField(child=WindowField(), help_text="the first 50")
    more_windows = serializers.IntegerField()
    incident = serializers.IntegerField(allow_null=True)
    report = serializers.IntegerField(allow_null=True)


class QualityIncident(serializers.Serializer[Any]):
    """An incident whose bad windows lie in the range."""

    id = serializers.IntegerField()
    category = serializers.ChoiceField(Category.choices)
    root_cause = serializers.CharField(allow_blank=True)
    eta = serializers.DateTimeField(allow_null=True)
    hard = serializers.BooleanField()
    windows = serializers.ListField(child=WindowField(), help_text="the first 50")
    more_windows = serializers.IntegerField()


class KnownQuality(serializers.Serializer[Any]):
    """What is known of a table."""

    dataset = serializers.CharField()
    status = serializers.ChoiceField(STATUSES)
    reasons = QualityReason(many=True)
    incidents = QualityIncident(many=True)
    reports = serializers.ListField(child=serializers.IntegerField(), help_text="claims that nobody has decided")


@shown_by(examples.RANGE_QUALITY)
class RangeQuality(Spanned, KnownQuality):
    """What is known of a range of a dataset in one datacenter."""

    datacenter = serializers.CharField()


class TableQuality(RangeQuality):
    """The same of a table that a query reads; of one that the catalog lacks no range and no datacenter."""

    span_may_be_null = True
    datacenter = serializers.CharField(allow_null=True)


@shown_by(examples.QUERY_ANSWER)
class QueryAnswer(serializers.Serializer[Any]):
    """What is known of all that a query reads."""

    status = serializers.ChoiceField(STATUSES, help_text="the worst of its tables")
    tables = TableQuality(many=True)
    unknown = serializers.ListField(child=serializers.CharField(), help_text="tables that the catalog lacks")
    widened = serializers.BooleanField(help_text="whether many ranges were answered as one for each table")


@shown_by(examples.BULK_ANSWER)
class BulkAnswer(serializers.Serializer[Any]):
    """What is known of many ranges."""

    status = serializers.ChoiceField(STATUSES, help_text="the worst of all answers")
    answers = TableQuality(
        many=True, help_text="one for each range, in their order; of each reason the first 3 windows"
    )


class BoundTo(serializers.Serializer[Any]):
    """A test to which a pipeline is bound."""

    dataset = serializers.CharField()
    test = serializers.CharField()
    gate = serializers.ChoiceField(["strong", "weak"], help_text="strong: it blocks; weak: it only warns")


class PipelineAnswer(serializers.Serializer[Any]):
    """How good the outputs of a pipeline are."""

    pipeline = serializers.CharField()
    outputs = RangeQuality(many=True)
    bindings = BoundTo(many=True)
