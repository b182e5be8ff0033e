"""The types of the API's values, shared by requests and answers."""

from collections.abc import Mapping
from datetime import date, datetime
from math import isfinite
from typing import Any, ClassVar

from django.db import models
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.fields import empty
from rest_framework.request import Request

from assay import clock
from assay.catalog.selectors import by_name, by_names
from assay.edge.control_characters import name_fault, visible
from assay.models import Dataset
from assay.time.durations import UnableToReadDuration, UnableToTakeInstant, format_duration, parse_duration, taken
from assay.time.windows import UnableToReadWindow, Window, place_end
from web.access.who import need_of, owned, person_of, unreadable

Fields = dict[str, serializers.Field[Any, Any, Any, Any]]
MOST_UNKNOWN = 10  # names that an answer lists
TEXTS = frozenset({"assertion", "description", "reason", "root_cause", "sql", "text"})  # whose values are no names
PAGING = ("limit", "offset")
NEEDED = {
    "from": "is needed, as no range is asked of without it: from=2026-03-09T00:00:00Z, its first instant",
    "to": "is needed, as no range is asked of without it: to=2026-03-10T00:00:00Z, the instant at which it ends",
}


class Shape(serializers.Serializer[Any]):
    """A request's parameters or body; a name that is not known is an error, not a filter that filters nothing."""

    def run_validation(self, data: Any = empty) -> Any:
        if isinstance(data, dict) and (unknown := sorted(set(data) - {*self.fields, *PAGING})):
            message = f"not known; known here: {', '.join(self.fields)}"
            raise serializers.ValidationError({visible(name[:100]): message for name in unknown[:MOST_UNKNOWN]})
        faults = {}  # of names with a control character; longer texts may have lines
        for name, field in self.fields.items() if isinstance(data, dict) else ():
            if name not in TEXTS and isinstance(getattr(field, "child", field), serializers.CharField):
                values = data.get(name)
                texts = [text for text in (values if isinstance(values, list) else [values]) if isinstance(text, str)]
                if fault := next(filter(None, map(name_fault, texts)), None):
                    faults[name] = fault
        if faults:
            raise serializers.ValidationError(faults)
        return super().run_validation(data)


class Filters(Shape):
    """Filters of rows, by what of them is compared; a window stands for its two ends, ``active`` for a later end."""

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """What the rows are filtered by; null filters nothing."""
        window, is_active = attrs.pop("window", None), attrs.pop("active", None)
        if window:
            attrs |= {"window_start": window.start, "window_end": window.end}
        if is_active:
            attrs["ends_at__gt"] = clock.now()
        return {name: value for name, value in attrs.items() if value is not None}


def demand_readable(request: Request, dataset: Dataset) -> None:
    """Nothing where whoever asks may see the dataset, or pushes to it; else PermissionDenied."""
    need = need_of(request.parser_context["view"], str(request.method))
    if why_not := unreadable(person_of(request), need, owned(dataset)):
        raise PermissionDenied(why_not)


class DatasetField(serializers.CharField):
    """A dataset by its full name, in whatever case."""

    def to_internal_value(self, data: Any) -> Dataset:  # type: ignore[override]
        name = super().to_internal_value(data)
        datasets = self.parent.datasets if isinstance(self.parent, DatasetsField) else None
        if (dataset := by_name(name) if datasets is None else datasets.get(name)) is None:
            raise serializers.ValidationError(f"no dataset is called {name!r}; GET /api/v1/datasets lists them")
        if (request := self.context.get("request")) is not None:
            demand_readable(request, dataset)
        return dataset

    def to_representation(self, value: Dataset) -> str:  # type: ignore[override]
        return value.full_name


class DatasetsField(serializers.ListField):
    """Many datasets by their full names, read together."""

    child = DatasetField()
    datasets: Mapping[str, Dataset] | None = None  # those of the list that is being checked, as they are spelled there

    def run_child_validation(self, data: Any) -> list[Dataset]:
        self.datasets = by_names({name.strip() for name in data if isinstance(name, str)})
        return super().run_child_validation(data)


class WindowField(serializers.CharField):
    """``START/END`` in ISO 8601."""

    def to_internal_value(self, data: Any) -> Window:  # type: ignore[override]
        try:
            return Window.parse(super().to_internal_value(data)).taken()
        except UnableToReadWindow as unable:
            raise serializers.ValidationError(str(unable)) from None

    def to_representation(self, value: Window) -> str:  # type: ignore[override]
        return value.text


class InstantField(serializers.DateTimeField):
    """An instant in ISO 8601, in the years that we answer for."""

    def to_internal_value(self, value: Any) -> datetime:
        try:
            return taken(super().to_internal_value(value))
        except UnableToTakeInstant as unable:
            raise serializers.ValidationError(str(unable)) from None


class EndOfRangeField(InstantField):
    """An instant in ISO 8601, or a bare date: midnight in the zone of the dataset that is asked about."""

    def to_internal_value(self, value: Any) -> Any:
        """The instant, or the date, which waits for its zone."""
        try:
            return date.fromisoformat(value)
        except (TypeError, ValueError):
            return super().to_internal_value(value)


class LengthField(serializers.CharField):
    """A length of time, such as ``4h``."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return parse_duration(super().to_internal_value(data))
        except UnableToReadDuration as unable:
            raise serializers.ValidationError(str(unable)) from None

    def to_representation(self, value: Any) -> str:
        return format_duration(value)


class FiniteField(serializers.FloatField):
    """A figure; what JSON has no number for is null."""

    def to_representation(self, value: float) -> float | None:  # type: ignore[override]
        return finite(float(value))  # type: ignore[no-any-return]


class Spanned(serializers.Serializer[Any]):
    """An answer about a range, which it names as ``from`` and ``to``: the first is no name in Python."""

    span_may_be_null: ClassVar[bool] = False

    def get_fields(self) -> Fields:
        ends = {name: serializers.DateTimeField(allow_null=self.span_may_be_null) for name in ("from", "to")}
        return {**super().get_fields(), **ends}


class FiniteJsonField(serializers.JSONField):
    """Any JSON; figures that JSON has no number for are null."""

    def to_representation(self, value: Any) -> Any:
        return finite(value)


class Row(serializers.ModelSerializer[Any]):
    """A row of a table, fit for JSON; an answer has all of its fields, whatever a row may leave out."""

    serializer_field_mapping = {
        **serializers.ModelSerializer.serializer_field_mapping,
        models.FloatField: FiniteField,
        models.JSONField: FiniteJsonField,
        models.DurationField: LengthField,
    }

    def get_fields(self) -> Fields:
        fields = super().get_fields()
        for field in fields.values():
            field.required = True
        return fields


def finite(value: Any) -> Any:
    """``value`` with null for every infinite or undefined figure in it."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(inside) for name, inside in value.items()}
    if isinstance(value, list):
        return [finite(inside) for inside in value]
    return value


def with_range(shape: type[Shape]) -> type[Shape]:
    """``shape`` with the parameters ``from`` and ``to``, of which the first is no name in Python.

    A bare date is midnight in the zone of the one dataset that is asked about, else in UTC.
    """

    class WithRange(shape):  # type: ignore[valid-type,misc]
        def get_fields(self) -> Fields:
            instants = {name: EndOfRangeField(error_messages={"required": NEEDED[name]}) for name in NEEDED}
            return {**super().get_fields(), **instants}

        def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
            ends = {name: attrs[name] for name in NEEDED}
            if not all(isinstance(end, datetime) for end in ends.values()):
                dataset = attrs.get("dataset")
                if isinstance(dataset, str):  # of many look-ups at once, each names its own
                    dataset = by_name(dataset)
                for name, end in ends.items():
                    try:
                        if not isinstance(end, datetime):
                            ends[name] = place_end(end, dataset.time_zone if dataset else "UTC")
                    except ValueError as unable:
                        raise serializers.ValidationError({name: str(unable)}) from None
            if ends["from"] >= ends["to"]:
                raise serializers.ValidationError({"to": "the range must end after it starts"})
            return {**attrs, **ends, "range": Window(start=ends["from"], end=ends["to"])}

    WithRange.__name__ = shape.__name__
    return WithRange
