"""``novelty(country='US') <= 1``: the options of novelty, and a batch that is judged beside its like."""

from datetime import date, timedelta
from typing import Any

import pytest

from execution_engine.language.checking import DatasetSchema, UnableToCheck, check
from execution_engine.language.parse import UnableToParse, parse
from execution_engine.language.past import NOVEL, BatchWithPast, ScoredWindow, novelty
from execution_engine.language.serialise import from_json, to_json, to_text
from execution_engine.language.tree import History, operands
from execution_engine.metrics.registry import GROUPABLE, SIGNATURES
from execution_engine.novelty.days import day_of
from execution_engine.novelty.past import Past
from execution_engine.outcome import Failure, Reason
from tests.unit.execution_engine.novelty.batches import past_of, profile, trips

SUNDAY = date(2026, 3, 1)


def history(text: str) -> History:
    """The one operand of an assertion."""
    [found] = operands(parse(text))
    assert isinstance(found, History)
    return found


def problems(text: str) -> str:
    home = DatasetSchema(name="raw.rides", columns={"fare": None}, partitioned=True)  # type: ignore[dict-item]
    try:
        check(parse(text), home=home, schema_of=lambda _: None, signatures=SIGNATURES, source=text, groupable=GROUPABLE)
    except (UnableToCheck, UnableToParse) as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("text", "country"),
    [
        ("novelty() <= 1", ""),
        ("novelty(country='US') <= 1", "US"),
        ("novelty(profile(), last=60, country='FR', method='predictive') <= 1.5", "FR"),
    ],
)
def test_a_country_is_read_written_and_kept(text: str, country: str) -> None:
    tree = parse(text)
    assert history(text).country == country
    assert parse(to_text(tree)) == tree
    assert from_json(to_json(tree)) == tree
    assert problems(text) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("novelty(country='Utopia') <= 1", "country='Utopia' is no country that is known: write its two letters"),
        ("novelty(country=49) <= 1", "country=49 is no country that is known"),
        ("novelty(method='drift', country='US') <= 1", "country= is of method='predictive': drift knows no holidays"),
        ("novelty(nation='US') <= 1", "novelty has no option nation=: it takes method= and country="),
        ("novelty(method='magic') <= 1", "there is no method 'magic'"),
        ("novelty(country='US', country='FR') <= 1", "country= is given twice"),
    ],
)
def test_what_is_wrong_with_its_options_is_said_before_it_runs(text: str, why: str) -> None:
    assert why in problems(text)


def test_a_country_that_nobody_knows_is_pointed_at() -> None:
    *_, written, caret = problems("novelty(country='Utopia') <= 1").splitlines()
    assert written[caret.index("^") :].startswith("country='Utopia'")


def test_the_sentence_says_on_which_days_it_is_usual() -> None:
    past = Past()
    for at in range(1, 71):
        day = SUNDAY - timedelta(71 - at)
        number = (day - date(1970, 1, 1)).days
        past = past.joined(profile(trips(number, 100 if day.weekday() >= 5 else 500), number), day=day_of(day))
    number = (SUNDAY - date(1970, 1, 1)).days
    given = BatchWithPast(profile=profile(trips(number), number), past=past, windows=[], day=day_of(SUNDAY))
    found = novelty(history("novelty() <= 1"), given)
    assert isinstance(found, ScoredWindow)
    assert found.score > 1
    assert "rows: 500, usually 100 on Sundays" in str(found.finding)


DAYS_BEFORE = range(100, 112)
USUAL = past_of(profile(trips(day, 500), day) for day in DAYS_BEFORE)


def judged(rows: int = 500, past: Past = USUAL, **more: Any) -> ScoredWindow | Failure:
    windows = [f"day {day}" for day in DAYS_BEFORE]
    batch = BatchWithPast(profile=profile(trips(112).slice(0, rows), 112), past=past, windows=windows, **more)
    return novelty(history("novelty() <= 1"), batch)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({}, "unlike the 12 windows before: rows: 0, usually 500"),
        ({"novel_before": 2}, "unlike the 12 windows before: rows: 0, usually 500"),
        (
            {"novel_before": 3},
            "unlike the 12 windows before: rows: 0, usually 500; 4 novel windows in a row: has the table changed?",
        ),
    ],
)
def test_what_is_novel_is_told_with_what_was_usual(more: dict[str, Any], sentence: str) -> None:
    found = judged(rows=0, **more)
    assert isinstance(found, ScoredWindow)
    assert (found.kind, found.sentence) == (NOVEL, sentence)
    finding = dict(found.finding)
    (cause,) = finding.pop("causes")
    assert found.score == finding.pop("score") / finding.pop("threshold") > 1
    assert finding == {"metric": "profile()", "method": "predictive", "windows": 12, "notes": []}
    assert (cause["shown"], cause["new"]) == ("count", [])
    assert cause["past"] == [[f"day {day}", 500] for day in DAYS_BEFORE]


def test_a_window_like_those_before_it_or_one_that_may_be_empty_is_not_novel() -> None:
    for found in (judged(), judged(rows=0, may_be_empty=True)):
        assert isinstance(found, ScoredWindow)
        assert (found.score <= 1, found.sentence, found.finding["causes"]) == (True, "", [])


def test_novelty_learns_from_windows_that_were_accepted() -> None:
    found = judged(past=past_of(profile(trips(day), day) for day in DAYS_BEFORE[:3]))
    assert isinstance(found, Failure)
    assert (found.reason, found.detail.partition(" has ")[2]) == (
        Reason.WARMING_UP,
        "3 of the 8 accepted windows it needs; wait for more",
    )
