"""Where the values of a dataset come from, on its page, and the form that corrects one of them."""

from typing import Any

import yaml
from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from assay import clock
from assay.access import Action
from assay.catalog.corrections import UnableToCorrect, correct, origins_of
from assay.catalog.yaml.written import KEYS, SECTION, field_of
from assay.catalog.yaml.yaml_text import UnableToParseYaml, parse_yaml
from assay.models import Dataset
from incident_manager.proposed_values.services import proposed_values
from web.access.who import may
from web.api.catalog import Datasets
from web.api.origins import ANYBODY, GUARDED, field_refusal

from .page_policy import changing, complain, dataset_of, demand, form_of

TEXTS = (  # fields whose values are written as they are, not as YAML
    *("owner", "team", "description", "severity", "catch_up", "gate_on", "unknown_policy"),
    *("sustain", "grace", "retention", f"{SECTION}.freshness"),
)
LISTS = ("primary_key", "readers", "tags")  # may be written with commas
LONGEST_VALUE = 50_000  # characters


def origins_context(request: HttpRequest, dataset: Dataset) -> dict[str, Any]:
    """The fields of the dataset with their sources and what is proposed, and which of them whoever asks may correct.

    Those that no source says are apart, as ``unsaid``.
    """
    is_allowed = may(request, Action.CORRECT, dataset)
    is_admin = may(request, Action.CORRECT, ANYBODY)
    rows: list[dict[str, Any]] = [
        {
            "origin": origin,
            "text": value_text(origin.value),
            "others": [(other, value_text(other.value)) for other in origin.others],
            "may_correct": is_allowed and (is_admin or origin.field not in GUARDED),
        }
        for origin in origins_of(dataset)
    ]
    unsaid = [row for row in rows if row["origin"].source is None and not row["origin"].others]
    proposed = [(value, value_text(value.value)) for value in proposed_values(dataset, now=clock.now())]
    return {
        "origins": [row for row in rows if row not in unsaid],
        "unsaid": unsaid,
        "may_correct": is_allowed,
        "proposed": proposed,
    }


def value_text(value: Any) -> str:
    """A value on one line, as a catalog file has it; empty where there is none."""
    if value is None or isinstance(value, str):
        return value or ""
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**9)
    return text.removesuffix("...\n").strip()


def patch_of(key: str, text: str) -> dict[str, Any]:
    """The patch that gives a field the value of a text; raises UnableToParseYaml."""
    value: Any = text if key in TEXTS else parse_yaml(text).content
    if key in LISTS and isinstance(value, str):
        value = [item.strip() for item in value.split(",")]
    return _patch(key, value)


def _patch(key: str, value: Any) -> dict[str, Any]:
    return {SECTION: {field_of(key): value}} if key.startswith(f"{SECTION}.") else {key: value}


class CorrectionForm(forms.Form):
    """A field, and the value that it should have, or that its correction is taken back."""

    field = forms.ChoiceField(choices=[(key, key) for key in KEYS])
    value = forms.CharField(required=False, max_length=LONGEST_VALUE)
    undo = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        """The patch that the form asks for."""
        values: dict[str, Any] = super().clean() or {}
        if "field" not in values or "value" not in values:
            return values
        if values.get("undo"):
            return values | {"patch": _patch(values["field"], None)}
        if not values["value"]:
            raise forms.ValidationError(gettext("Write a value: it is corrected to that."))
        try:
            return values | {"patch": patch_of(values["field"], values["value"])}
        except UnableToParseYaml as unable:
            raise forms.ValidationError(gettext("The value is no YAML: %(why)s") % {"why": unable}) from None


@form_of("dataset", "name")
def correct_field(request: HttpRequest, name: str) -> HttpResponse:
    """Correct one field of a dataset, or take its correction back, and return to the dataset's page."""
    dataset = dataset_of(name)
    demand(request, Action.CORRECT, dataset)
    form, home = CorrectionForm(request.POST), reverse("dataset", args=[dataset.full_name])
    if not form.is_valid():
        return complain(request, form, home)
    values = form.cleaned_data
    if why_not := field_refusal(request, values["patch"]):
        raise PermissionDenied(why_not)
    with changing(
        request,
        Datasets,
        "correct",
        key=dataset.full_name,
        refusal=UnableToCorrect,
        home=reverse("dataset", args=[name]),
    ):
        correct(dataset.full_name, values["patch"], now=clock.now())
        text = (
            gettext("%(field)s is again what its sources say.")
            if values["undo"]
            else gettext("%(field)s is corrected: whatever sources say, it stays so until you undo it.")
        )
        messages.success(request, text % {"field": values["field"]})
    return redirect(f"{home}?tab=settings#origins")
