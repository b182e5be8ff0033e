"""Reasons as people read them."""

from dataclasses import replace

import pytest
from django.utils.translation import override

from incident_manager.quality.rules import NOT_JUDGED, UNDECLARED, UNTESTED, AnswerReason, ReasonKind, Status
from tests.factories import day
from web.rendering.headline import folded, reason_text

MONDAY, TUESDAY = day("2026-03-09"), day("2026-03-10")
BROKEN = AnswerReason(
    kind=ReasonKind.BROKEN,
    text="freshness is broken (FAIL)",
    windows=(MONDAY,),
    status=Status.BAD,
    category="freshness",
    test="freshness",
)
OPENED = AnswerReason(
    kind=ReasonKind.SPOILT,
    text="freshness incident 7 is open",
    windows=(MONDAY,),
    status=Status.BAD,
    category="freshness",
    incident_id=7,
)


def test_a_broken_test_and_its_incident_are_one_reason() -> None:
    assert folded([BROKEN, OPENED]) == [replace(BROKEN, incident_id=7)]


def test_an_incident_of_other_windows_keeps_its_own_reason() -> None:
    other = replace(OPENED, windows=(TUESDAY,))
    assert folded([BROKEN, other]) == [BROKEN, other]


def test_an_incident_of_another_category_keeps_its_own_reason() -> None:
    other = replace(OPENED, category="completeness")
    assert folded([BROKEN, other]) == [BROKEN, other]


def test_a_confirmed_report_keeps_its_own_reason() -> None:
    claimed = replace(OPENED, report_id=3)
    assert folded([BROKEN, claimed]) == [BROKEN, claimed]


def test_what_is_only_noted_takes_no_incident() -> None:
    noted = replace(BROKEN, kind=ReasonKind.WAIVED, status=None)
    assert folded([noted, OPENED]) == [noted, OPENED]


@pytest.mark.parametrize(
    ("text", "german"),
    [
        (UNTESTED, "ungetestet: es endete, bevor es den Test gab, oder wird nicht mehr aufbewahrt"),
        (UNDECLARED, "ungetestet: es begann, bevor die Spalten so deklariert waren"),
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
