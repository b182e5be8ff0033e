"""What the form of the editor accepts, and how what is typed there is written for a catalog file."""

from collections.abc import Mapping
from typing import Any

import yaml
from django import forms

from assay.models import Category, DataTest, Severity
from assay.time.durations import format_duration
from test_generator.suggestions.as_text import WIDTH
from web.pages.forms import NameField

from .backtests import LengthField

SCHEDULES = ("partition", "weekly")
FIELDS = ("name", "assertion", "category", "severity", "schedule", "sustain")
LONGEST = 4096  # characters of an assertion


class EditorForm(forms.Form):
    """A user's test; what is left out is as the dataset has it."""

    name = NameField(max_length=300)
    assertion = forms.CharField(max_length=LONGEST)
    category = forms.ChoiceField(required=False, choices=Category.choices)
    severity = forms.ChoiceField(required=False, choices=[("", ""), *Severity.choices])
    schedule = NameField(required=False, max_length=120)
    sustain = LengthField(required=False, max_length=20)
    suggestion = forms.IntegerField(required=False, min_value=1)
    report = forms.IntegerField(required=False, min_value=1)

    def definition(self) -> dict[str, Any]:
        """What a revision is made of."""
        given = self.cleaned_data
        return {
            "assertion": given["assertion"],
            "severity": given["severity"] or None,
            "schedule": given["schedule"].strip() or SCHEDULES[0],
            "sustain": given["sustain"],
        }


def typed_of(test: DataTest) -> dict[str, str]:
    """The fields of a written test."""
    revision = test.revision
    assert revision is not None
    return {
        "name": test.name,
        "assertion": revision.assertion,
        "category": test.category,
        "severity": revision.severity,
        "schedule": revision.schedule,
        "sustain": format_duration(revision.sustain),
    }


def as_yaml(dataset: str, typed: Mapping[str, str]) -> str:
    """The test as a catalog file says it, without what it leaves to the dataset."""
    said = {name: typed.get(name, "").strip() for name in FIELDS}
    usual = {"category": Category.CUSTOM.value, "schedule": SCHEDULES[0]}
    test = {"dataset": dataset} | {name: text for name, text in said.items() if text and usual.get(name) != text}
    return yaml.safe_dump({"tests": [test]}, sort_keys=False, width=WIDTH, allow_unicode=True)
