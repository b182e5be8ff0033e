"""What people read."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from alerting.notices.messages import (
    BrokenWindow,
    IncidentText,
    InhibitedAlert,
    also_fails,
    digest,
    downstream,
    ended,
    opened,
    recovered,
    redact_incident,
    renamed,
    unknown,
    withdrawn,
)
from assay.time.windows import Window

DAY = Window(start=datetime(2024, 3, 4, tzinfo=UTC), end=datetime(2024, 3, 5, tzinfo=UTC))
FAILED = datetime(2024, 3, 5, 7, 30, tzinfo=UTC)
BROKEN = BrokenWindow(
    test="consistency:sea>phx",
    partition="2024-03-04 (Asia/Seoul)",
    window=DAY,
    value="row_count() = 0.93, wanted >= 1",
    datacenter="phx",
    lost_keys=12345,
)


LEAD, KEY = BROKEN.test, BROKEN.partition
TOLD = f"- {LEAD} for {KEY} in phx: row_count() = 0.93, wanted >= 1, 12,345 keys lost"


def same(count: int) -> tuple[BrokenWindow, ...]:
    """So many windows of one test."""
    return tuple(replace(BROKEN) for _ in range(count))


def incident(**changes: object) -> IncidentText:
    facts: dict[str, object] = {
        "dataset": "core.trips",
        "category": "consistency",
        "tier": 1,
        "owner": "team-trips",
        "failed_at": FAILED,
        "windows": (BROKEN,),
        "tests": (BROKEN.test,),
        "partitions": (BROKEN.partition,),
        **changes,
    }
    return IncidentText(**facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tests", "partitions", "title"),
    [
        (("paid",), ("2024-03-04", "2024-03-05", "2024-03-06"), "paid fails for 2024-03-04 and 2 more"),
        (("paid", "rides"), ("2024-03-04",), "paid and 1 more test fail for 2024-03-04"),
        (("paid", "rides", "kept"), ("the whole table",), "paid and 2 more tests fail for the whole table"),
        ((), (), "consistency fails"),
    ],
)
def test_a_title_leads_with_the_test_and_its_partition(
    tests: tuple[str, ...], partitions: tuple[str, ...], title: str
) -> None:
    message = opened(incident(tests=tests, partitions=partitions))
    assert message.title == f"{title}: core.trips (consistency, tier 1)"


def test_a_test_that_fails_later_leads_its_message_and_its_windows_come_first() -> None:
    later = replace(BROKEN, test="paid", partition="2024-03-05", value="min(fare) = -1, wanted >= 0", lost_keys=None)
    message = also_fails(incident(windows=(BROKEN, later)), tests={"paid"})
    assert message.title == "paid fails for 2024-03-05 too: core.trips (consistency, tier 1)"
    assert message.body.splitlines()[:6] == [
        "Since the last message paid fails for 2024-03-05 too.",
        "",
        "core.trips has failed consistency since 2024-03-05 07:30 UTC.",
        "",
        "- paid for 2024-03-05 in phx: min(fare) = -1, wanted >= 0",
        TOLD,
    ]


def test_each_of_ten_tests_has_a_line_however_many_windows_one_of_them_has() -> None:
    many = (*(replace(BROKEN, partition=f"{number}") for number in range(30)), replace(BROKEN, test="paid"))
    assert "- paid for" in opened(incident(windows=many)).body


def test_an_owner_whom_only_the_log_reaches_was_not_told() -> None:
    body = downstream(incident(is_owner_reached=False), downstreams=["mart.report"]).body
    assert "No channel but the log reaches its owner, team-trips: nobody there was told." in body


def test_who_may_not_read_a_dataset_hears_no_value_of_it() -> None:
    silent = InhibitedAlert(dataset="mart.report", category="custom", value="17", lost_keys=3)
    whole = incident(inhibited=(silent,))
    trips = opened(redact_incident(whole, hidden={"core.trips"})).body
    assert f"- {LEAD} for {KEY} in phx: only its readers may see its values\n" in trips
    assert "- mart.report custom: 17, 3 keys lost\n" in trips
    report = opened(redact_incident(whole, hidden={"mart.report"})).body
    assert "- mart.report custom: only its readers may see its values\n" in report
    assert "0.93, wanted >= 1, 12,345 keys lost" in report
    told = opened(redact_incident(incident(root_cause="12 salaries twice"), hidden={"core.trips"})).body
    assert "Root cause: only its readers may see its values\n" in told
    assert redact_incident(whole, hidden=set()) == whole


def test_an_annotated_incident_tells_its_cause_and_eta() -> None:
    body = opened(incident(root_cause="disk full", eta=FAILED + timedelta(hours=2), url="https://dq/42")).body
    assert body.endswith("Root cause: disk full\nExpected repair: 2024-03-05 09:30 UTC\nDetails: https://dq/42\n")


def test_no_name_can_forge_a_line_or_a_header() -> None:
    message = opened(incident(dataset="core.trips\r\nBcc: all@example.com", windows=()))
    assert "\n" not in message.title
    assert "\r" not in message.title
    assert not any(line.startswith("Bcc") for line in message.body.splitlines())


def test_the_opening_is_this_text() -> None:
    silent = InhibitedAlert(dataset="mart.report", category="custom", value="17")
    message = opened(incident(inhibited=(silent,), url="https://dq/42"))
    assert message.title == f"{LEAD} fails for {KEY}: core.trips (consistency, tier 1)"
    assert message.body.splitlines() == [
        "core.trips has failed consistency since 2024-03-05 07:30 UTC.",
        "",
        TOLD,
        "",
        "It causes these incidents; their owners get no notice of their own:",
        "- mart.report custom: 17",
        "",
        "Root cause: not given yet",
        "Expected repair: not given yet",
        "Details: https://dq/42",
    ]


def test_an_opening_that_causes_nothing_else_ends_with_its_outlook() -> None:
    at_home = replace(BROKEN, datacenter=None, lost_keys=None)
    assert opened(incident(windows=(at_home,))).body == (
        "core.trips has failed consistency since 2024-03-05 07:30 UTC.\n\n"
        f"- {LEAD} for {KEY}: row_count() = 0.93, wanted >= 1\n\n"
        "Root cause: not given yet\nExpected repair: not given yet\n"
    )


@pytest.mark.parametrize(("count", "shown", "last"), [(9, 9, TOLD), (10, 10, TOLD), (11, 11, "- and 1 more")])
def test_ten_windows_are_listed_and_of_more_the_count(count: int, shown: int, last: str) -> None:
    listed = [line for line in opened(incident(windows=same(count))).body.splitlines() if line.startswith("- ")]
    assert (len(listed), listed[-1]) == (shown, last)


def test_no_lost_key_is_a_count_too() -> None:
    assert "wanted >= 1, 0 keys lost\n" in opened(incident(windows=(replace(BROKEN, lost_keys=0),))).body


@pytest.mark.parametrize(
    ("category", "shares", "title", "first"),
    [
        ("completeness", (), "are missing", "The rows of core.trips are not late; they are missing."),
        (
            "completeness",
            (0.98764, None, 0.9876),
            "are missing",
            "The rows of core.trips are not late; they are missing: 98.7 % are there.",
        ),
        ("consistency", (0.0,), "are missing", "The rows of core.trips are not late; they are missing: 0 % are there."),
        (
            "freshness",
            (0.5,),
            "are late",
            "The rows of core.trips are not missing; they are late, and more of them have come: 50 % are there.",
        ),
    ],
)
def test_the_owner_reads_that_rows_are_of_the_other_kind_and_then_all_of_the_opening(
    category: str, shares: tuple[float | None, ...], title: str, first: str
) -> None:
    windows = tuple(replace(BROKEN, share=share) for share in shares)
    changed = incident(category=category, windows=windows)
    message = renamed(changed)
    assert message.title == f"{LEAD} for {KEY}: rows of core.trips {title} (tier 1)"
    assert message.body.splitlines() == [first, "", *opened(changed).body.splitlines()]


def test_the_share_of_rows_that_are_there_is_cut_and_not_rounded_up() -> None:
    nearly = incident(category="completeness", windows=(replace(BROKEN, share=0.99999),))
    assert ": 99.9 % are there.\n" in renamed(nearly).body


def test_the_owner_of_a_downstream_reads_this_text() -> None:
    message = downstream(incident(root_cause="disk full"), downstreams=["mart.report", "mart.daily"])
    assert message.title == f"{LEAD} fails for {KEY}: upstream core.trips (consistency, tier 1)"
    assert message.body.splitlines() == [
        "core.trips has failed consistency since 2024-03-05 07:30 UTC.",
        "It feeds mart.report, mart.daily. Its owner, team-trips, was told.",
        "",
        TOLD,
        "",
        "Root cause: disk full",
        "Expected repair: not given yet",
    ]
    assert "It feeds your data. Its owner" in downstream(incident(), downstreams=[]).body


END = FAILED + timedelta(hours=3)
LINKED = incident(url="https://dq/42")


def test_the_recovery_is_this_text() -> None:
    message = recovered(LINKED, resolved_at=END)
    assert message.title == f"{LEAD} holds again for {KEY}: core.trips (consistency, tier 1)"
    assert message.body == (
        "core.trips has held consistency again since 2024-03-05 10:30 UTC. It had failed since 2024-03-05 07:30 UTC.\n"
        "Details: https://dq/42\n"
    )


def test_the_withdrawal_is_this_text() -> None:
    message = withdrawn(LINKED, withdrawn_at=END)
    assert message.title == f"{LEAD} for {KEY} withdrawn: core.trips (consistency, tier 1)"
    assert message.body == (
        "The consistency incident of core.trips from 2024-03-05 07:30 UTC was withdrawn at 2024-03-05 10:30 UTC: "
        "there is no longer a reason for it. Nobody needs to repair anything.\nDetails: https://dq/42\n"
    )


@pytest.mark.parametrize(
    ("how", "title", "words"),
    [
        ("forced", "false positive", "a user called it a false positive: the data is right, and the test was wrong"),
        ("accepted", "accepted", "a user accepted the data as it is, and nobody will repair it"),
        ("redefined", "redefined", "the test was changed, and the data holds by the new test"),
    ],
)
def test_an_end_by_a_word_says_whose_word_it_was(how: str, title: str, words: str) -> None:
    message = ended(LINKED, ended_at=END, how=how)
    assert message.title == f"{LEAD} for {KEY} ended ({title}): core.trips (consistency, tier 1)"
    assert message.body == (
        "The consistency incident of core.trips from 2024-03-05 07:30 UTC was ended at 2024-03-05 10:30 UTC: "
        f"{words}. Assay saw no repair.\nDetails: https://dq/42\n"
    )


def test_an_unknown_is_this_text() -> None:
    message = unknown(dataset="core.trips", test="freshness", partition=KEY, since=FAILED, reason="timeout")
    assert message.title == f"freshness could not be judged for {KEY}: core.trips"
    assert message.body == (
        f"The test freshness of core.trips has had no verdict for {KEY} since 2024-03-05 07:30 UTC.\n"
        "Cause: timeout. This says nothing about the data.\n"
    )


def test_a_digest_is_its_messages_one_after_the_other_each_under_its_title() -> None:
    messages = [recovered(incident(category=category), resolved_at=END) for category in ("freshness", "custom")]
    assert digest(messages[:1]) == messages[0]
    assert digest(messages).title == f"{messages[0].title} (and 1 more)"
    assert digest(messages).body == "\n".join(f"== {each.title}\n{each.body}" for each in messages)
    assert digest([*messages, *messages]).title.endswith("(and 3 more)")
