"""What people read."""

from datetime import UTC, datetime, timedelta

from alerting.messages import (
    BrokenWindow,
    IncidentText,
    InhibitedAlert,
    digest,
    downstream,
    opened,
    recovered,
    unknown,
    withdrawn,
)
from assay.windows import Window

DAY = Window(start=datetime(2024, 3, 4, tzinfo=UTC), end=datetime(2024, 3, 5, tzinfo=UTC))
FAILED = datetime(2024, 3, 5, 7, 30, tzinfo=UTC)
BROKEN = BrokenWindow(
    test="consistency:sea>phx",
    assertion="row_count() > 1",
    window=DAY,
    value="0.93",
    datacenter="phx",
    lost_keys=12345,
)


def incident(**changes: object) -> IncidentText:
    facts: dict[str, object] = {
        "dataset": "core.trips",
        "category": "consistency",
        "tier": 1,
        "owner": "team-trips",
        "failed_at": FAILED,
        "windows": (BROKEN,),
        **changes,
    }
    return IncidentText(**facts)  # type: ignore[arg-type]


def test_the_opening_says_what_is_broken_where_and_by_how_much() -> None:
    message = opened(incident())
    assert message.title == "[tier 1] core.trips: consistency FAIL"
    assert (
        "- 2024-03-04 00:00 UTC to 2024-03-05 00:00 UTC in phx: 0.93, 12,345 keys lost; "
        "consistency:sea>phx: row_count() > 1\n" in message.body
    )
    assert "Root cause: not given yet\nExpected repair: not given yet\n" in message.body


def test_the_opening_lists_what_it_inhibits_with_values_and_lost_keys() -> None:
    silent = InhibitedAlert(dataset="mart.report", category="custom", value="17", lost_keys=3)
    assert "- mart.report custom: 17, 3 keys lost\n" in opened(incident(inhibited=(silent,))).body


def test_an_annotated_incident_tells_its_cause_and_eta() -> None:
    body = opened(incident(root_cause="disk full", eta=FAILED + timedelta(hours=2), url="https://dq/42")).body
    assert body.endswith("Root cause: disk full\nExpected repair: 2024-03-05 09:30 UTC\nDetails: https://dq/42\n")


def test_long_lists_are_cut_with_a_count() -> None:
    lines = opened(incident(windows=(BROKEN,) * 25)).body.splitlines()
    assert sum(line.startswith("- 2024") for line in lines) == 10
    assert "- and 15 more" in lines


def test_the_owner_of_a_downstream_reads_what_of_theirs_is_touched_and_the_eta() -> None:
    message = downstream(incident(eta=FAILED), downstreams=["mart.report", "mart.daily"])
    assert "core.trips, which mart.report, mart.daily reads, fails consistency" in message.body
    assert "Its owner team-trips has been told." in message.body
    assert "Expected repair: 2024-03-05 07:30 UTC" in message.body


def test_recovery_and_withdrawal_say_so() -> None:
    end = FAILED + timedelta(hours=3)
    assert "holds consistency again since 2024-03-05 10:30 UTC" in recovered(incident(), resolved_at=end).body
    assert withdrawn(incident(), withdrawn_at=end).title == "core.trips: consistency withdrawn"


def test_an_unknown_says_that_the_data_is_not_accused() -> None:
    message = unknown(dataset="core.trips", test="freshness", window=DAY, since=FAILED, reason="timeout")
    assert "Cause: timeout. This says nothing about the data." in message.body


def test_no_name_can_forge_a_line_or_a_header() -> None:
    message = opened(incident(dataset="core.trips\r\nBcc: all@example.com", windows=()))
    assert "\n" not in message.title
    assert "\r" not in message.title
    assert not any(line.startswith("Bcc") for line in message.body.splitlines())


def test_several_messages_to_one_recipient_are_one() -> None:
    one, two = opened(incident()), opened(incident(category="freshness"))
    assert digest([one]) == one
    both = digest([one, two])
    assert both.title == "[tier 1] core.trips: consistency FAIL (and 1 more)"
    assert one.body in both.body
    assert two.body in both.body
