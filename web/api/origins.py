"""Where the values of a dataset come from, as the API shows it, and who may correct which of them."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from rest_framework import serializers
from rest_framework.request import Request

from assay.access import Action, Owned
from web.access.who import refused


class SourceValueRow(serializers.Serializer[Any]):
    """What another source says of a field."""

    source = serializers.CharField()  # type: ignore[assignment]
    value = serializers.JSONField(help_text="as a catalog file has it")
    since = serializers.DateTimeField(allow_null=True)


class OriginRow(serializers.Serializer[Any]):
    """The value of a field of a dataset, and which source says it so since when."""

    field = serializers.CharField(help_text="as a catalog file has it, such as tier or slas.freshness")
    value = serializers.JSONField(help_text="as a catalog file has it; null: its tier decides, or nothing")
    source = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="correction: a person, or a policy; null: no source says it"
    )
    since = serializers.DateTimeField(allow_null=True)
    policy = serializers.CharField(
        allow_blank=True, help_text="the operator's setting that has corrected it; empty: a person did, or nobody"
    )
    others = SourceValueRow(many=True, help_text="what sources say that do not count, the first in order first")


class ProposedRow(serializers.Serializer[Any]):
    """A value for a field that nobody gives; a PATCH that has it accepts it."""

    field = serializers.CharField(help_text="as a catalog file has it: primary_key, partition or slas.freshness")
    value = serializers.JSONField(help_text="as a catalog file has it")
    evidence = serializers.CharField()


GUARDED = ("replicas", "readers")  # where data lies and who may read it: a dataset's owner does not correct these
ANYBODY = Owned(name="others", owner="", team="")


def field_refusal(request: Request | HttpRequest, patch: Mapping[str, Any]) -> str | None:
    """Why whoever asks may not correct these fields of a dataset that they may correct; None where they may."""
    guarded = [name for name in GUARDED if name in patch]
    why_not = refused(request, Action.CORRECT, ANYBODY) if guarded else None
    return why_not and f"{' and '.join(guarded)}: {why_not}"
