"""Reasons as people read them."""

from dataclasses import replace
from typing import Any

import pytest
from django.utils.translation import override

from incident_manager.quality.rules import NOT_JUDGED, UNDECLARED, UNTESTED, AnswerReason, QualityStatus, ReasonKind
from tests.factories import day
from web.rendering.headline import folded, reason_text

MONDAY, TUESDAY = day("2026-03-09"), day("2026-03-10")
BROKEN = AnswerReason(
    kind=ReasonKind.BROKEN,
    text="freshness is broken (FAIL)",
    windows=(MONDAY,),
    status=QualityStatus.BAD,
    category="freshness",
    test="freshness",
)
OPENED = replace(BROKEN, kind=ReasonKind.SPOILT, text="freshness incident 7 is open", test=None, incident_id=7)


def test_a_broken_test_and_its_incident_are_one_reason() -> None:
    assert folded([BROKEN, OPENED]) == [replace(BROKEN, incident_id=7)]


@pytest.mark.parametrize("other", [{"windows": (TUESDAY,)}, {"category": "completeness"}, {"report_id": 3}], ids=str)
def test_an_incident_of_something_else_keeps_its_own_reason(other: dict[str, Any]) -> None:
    spoilt = replace(OPENED, **other)
    assert folded([BROKEN, spoilt]) == [BROKEN, spoilt]


def test_what_is_only_noted_takes_no_incident() -> None:
    noted = replace(BROKEN, kind=ReasonKind.WAIVED, status=None)
    assert folded([noted, OPENED]) == [noted, OPENED]


@pytest.mark.parametrize(
    ("text", "german"),
    [
        (UNTESTED, "ungetestet: die Partition endete, bevor es den Test gab, oder wird nicht mehr aufbewahrt"),
        (UNDECLARED, "ungetestet: die Partition begann, bevor die Spalten so deklariert waren"),
        (NOT_JUDGED, "noch nicht beurteilt"),
        ("freshness is broken (WARN): no incident yet", "Aktualität ist verletzt (WARN): noch kein Vorfall"),
        ("duplicates incident 7 is open", "Vorfall 7 (Duplikate) ist offen"),
        ("could not be judged: no data", "nicht beurteilbar: keine Daten"),
        ("waived: report 3 is confirmed", "ausgenommen: report 3 is confirmed"),
        ("a sentence that nobody knows", "a sentence that nobody knows"),
    ],
)
def test_a_reason_is_told_in_the_readers_language(text: str, german: str) -> None:
    assert reason_text(text) == text
    with override("de"):
        assert reason_text(text) == german
