"""What the pages' forms accept."""

from datetime import UTC, date, datetime
from typing import Any

from django import forms

from alerting.waivers import WaiverScope
from assay.edge.control_characters import name_fault
from assay.models import Category
from assay.time.durations import UnableToTakeInstant, taken
from web.pages.selectors.catalogue import FILTERS, CatalogueFilter
from web.pages.selectors.dataset import SPANS, WantedRange
from web.pages.selectors.incident import IncidentFilter, IncidentState
from web.shown.status import ShownStatus, in_english

TIERS = range(6)
LONGEST_NAME = 128  # as of owners in catalogs


class WantedForm(forms.Form):
    """The filters of the catalogue; what cannot be read filters nothing."""

    q = forms.CharField(required=False, max_length=200)
    tier = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, choices=[(tier, tier) for tier in TIERS]
    )
    status = forms.TypedChoiceField(
        required=False,
        coerce=ShownStatus,
        empty_value=None,
        choices=[(status.value, status.value) for status in FILTERS],
    )
    page = forms.IntegerField(required=False, min_value=1, max_value=10**6)

    def wanted(self) -> CatalogueFilter:
        """What the reader filters by."""
        self.is_valid()
        given = self.cleaned_data
        return CatalogueFilter(text=given.get("q") or "", tier=given.get("tier"), status=given.get("status"))

    def page_number(self) -> int:
        """The page that is asked for, from 1."""
        self.is_valid()
        return self.cleaned_data.get("page") or 1


class RangeForm(forms.Form):
    """The range of a dataset that somebody asks about; a number that cannot be read asks for the last partition."""

    first = forms.CharField(required=False, max_length=100)
    last = forms.CharField(required=False, max_length=100)
    span = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, choices=[(span, span) for span in SPANS]
    )
    datacenter = forms.CharField(required=False, max_length=60)

    def wanted(self) -> WantedRange:
        """What is asked about."""
        self.is_valid()
        given = self.cleaned_data
        return WantedRange(
            first=given.get("first") or "",
            last=given.get("last") or "",
            span=given.get("span") or 1,
            datacenter=given.get("datacenter") or "",
        )


class IncidentsForm(forms.Form):
    """The filters of the page of incidents; what cannot be read filters nothing."""

    q = forms.CharField(required=False, max_length=200)
    state = forms.TypedChoiceField(
        required=False,
        coerce=IncidentState,
        empty_value=None,
        choices=[(state.value, state.value) for state in IncidentState],
    )
    category = forms.ChoiceField(required=False, choices=Category.choices)
    tier = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, choices=[(tier, tier) for tier in TIERS]
    )
    page = forms.IntegerField(required=False, min_value=1, max_value=10**6)

    def wanted(self, reader: str) -> IncidentFilter:
        """What a reader of this name filters by."""
        self.is_valid()
        given = self.cleaned_data
        return IncidentFilter(
            text=given.get("q") or "",
            state=given.get("state"),
            category=given.get("category") or "",
            tier=given.get("tier"),
            page=given.get("page") or 1,
            reader=reader,
        )


class UtcField(forms.DateTimeField):
    """An instant in UTC, as ``datetime-local`` inputs send it."""

    input_formats = ("%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")

    def to_python(self, value: str | datetime | date | None) -> datetime | None:
        """The instant, aware."""
        instant = super().to_python(value)
        try:
            return taken(instant).astimezone(UTC) if instant else None
        except UnableToTakeInstant as unable:
            raise forms.ValidationError(in_english(str(unable))) from None


class NameField(forms.CharField):
    """A name, without control characters."""

    def clean(self, value: Any) -> str:
        """The name."""
        name: str = super().clean(value)
        if fault := name_fault(name):
            raise forms.ValidationError(in_english(fault))
        return name


class AssignForm(forms.Form):
    """Who is to work on an incident; empty: nobody."""

    to = NameField(required=False, max_length=LONGEST_NAME)


class AnnotateForm(forms.Form):
    """What an owner says of an incident."""

    root_cause = forms.CharField(required=False, max_length=10_000)
    eta = UtcField(required=False)
    backfill = NameField(required=False, max_length=200)
    text = forms.CharField(required=False, max_length=10_000)


class ReasonForm(forms.Form):
    """Why an incident ends."""

    reason = forms.CharField(max_length=10_000)


class ForceForm(ReasonForm):
    """Why an incident was a false positive, and how far that reaches."""

    scope = forms.TypedChoiceField(coerce=WaiverScope, choices=[(scope.value, scope.value) for scope in WaiverScope])
    until = UtcField(required=False)
