"""The route file: how teams and owners are reached, and until when quiet hours last."""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.routes import DAYS, QuietHours, Route, Routes, UnableToReadRoutes, read_routes

EXAMPLE = Path(__file__).parents[3] / "examples" / "routes.yaml"
BERLIN = ZoneInfo("Europe/Berlin")
NIGHTS = QuietHours(zone=BERLIN, begin=time(20), end=time(8), days_off=frozenset({5, 6}))


def berlin(day: int, hour: int, minute: int = 0, month: int = 3) -> datetime:
    """An instant of 2026 by the clocks of Berlin; 2026-03-02 is a Monday."""
    return datetime(2026, month, day, hour, minute, tzinfo=BERLIN).astimezone(UTC)


@pytest.mark.parametrize(
    ("at", "until"),
    [
        (berlin(3, 12), berlin(3, 12)),  # at noon nobody waits
        (berlin(3, 20), berlin(4, 8)),
        (berlin(3, 19, 59), berlin(3, 19, 59)),
        (berlin(4, 3), berlin(4, 8)),
        (berlin(4, 8), berlin(4, 8)),
        (berlin(6, 21), berlin(9, 8)),  # a Friday's night, the days off and the night to Monday
        (berlin(7, 12), berlin(9, 8)),
    ],
)
def test_quiet_hours_last_until_the_first_instant_that_is_not_quiet(at: datetime, until: datetime) -> None:
    assert NIGHTS.until(at) == until


def test_a_night_in_which_clocks_go_forward_is_an_hour_shorter() -> None:
    hours = QuietHours(zone=BERLIN, begin=time(20), end=time(8))
    assert hours.until(berlin(28, 20)) - berlin(28, 20) == timedelta(hours=11)
    assert hours.until(berlin(24, 20, month=10)) - berlin(24, 20, month=10) == timedelta(hours=13)


def test_quiet_hours_that_end_at_a_time_that_clocks_skip_end_when_they_jump() -> None:
    hours = QuietHours(zone=BERLIN, begin=time(20), end=time(2, 30))
    assert hours.until(berlin(28, 23)) == datetime(2026, 3, 29, 1, tzinfo=UTC)


def test_without_hours_only_days_off_are_quiet() -> None:
    hours = QuietHours(zone=ZoneInfo("UTC"), days_off=frozenset({6}))
    assert hours.until(datetime(2026, 3, 8, 5, tzinfo=UTC)) == datetime(2026, 3, 9, tzinfo=UTC)
    assert hours.until(datetime(2026, 3, 9, 5, tzinfo=UTC)) == datetime(2026, 3, 9, 5, tzinfo=UTC)


@given(
    at=st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),
    zone=st.sampled_from(["Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia", "UTC"]),
    begin=st.times(),
    end=st.times(),
    days_off=st.frozensets(st.integers(0, 6), max_size=6),
)
def test_nobody_waits_for_ever_and_whoever_was_told_could_be_told(
    at: datetime, zone: str, begin: time, end: time, days_off: frozenset[int]
) -> None:
    begin, end = begin.replace(second=0, microsecond=0), end.replace(second=0, microsecond=0)
    hours = QuietHours(zone=ZoneInfo(zone), begin=begin, end=end, days_off=days_off)
    until = hours.until(at)
    assert at <= until <= at + timedelta(days=9)
    assert hours.until(until) == until
    if until > at:  # each instant before its end is quiet
        assert hours.until(at + (until - at) / 2) == until


def test_only_the_tiers_that_are_named_wait() -> None:
    hours = QuietHours(zone=BERLIN, begin=time(20), end=time(8), tiers=frozenset({4, 5}))
    assert hours.heard(berlin(3, 22), tier=3) == berlin(3, 22)
    assert hours.heard(berlin(3, 22), tier=5) == berlin(4, 8)
    assert hours.heard(berlin(3, 22)) == berlin(4, 8)


def test_an_owner_has_their_own_route_else_that_of_the_team_else_the_default() -> None:
    own, team, rest = (Route(channels={"slack": name}) for name in ("#own", "#team", "#rest"))
    routes = Routes(owners={"ada": own}, teams={"trips": team}, default=rest)
    assert [routes.of("ada", "trips"), routes.of("bob", "trips"), routes.of("trips")] == [own, team, team]
    assert routes.of("bob", "rides") == rest
    assert Routes().of("bob") is None


def written(folder: Path, text: str) -> Path:
    """A route file."""
    path = folder / "routes.yaml"
    path.write_text(text)
    return path


def test_the_example_is_read() -> None:
    routes = read_routes(EXAMPLE)
    assert routes.default is not None
    assert routes.teams["trips"].quiet_hours is not None


def test_a_route_file_is_read_whole(tmp_path: Path) -> None:
    text = """
teams:
  trips:
    channels: {slack: "#trips", email: trips@example.org}
    quiet_hours: {zone: Europe/Berlin, from: "20:00", to: "08:00", days_off: [saturday, sunday], tiers: [3]}
    digest: friday
owners:
  ada: {channels: {pagerduty: ada}, digest: never}
"""
    routes = read_routes(written(tmp_path, text))
    hours = QuietHours(zone=BERLIN, begin=time(20), end=time(8), days_off=frozenset({5, 6}), tiers=frozenset({3}))
    channels = {"slack": "#trips", "email": "trips@example.org"}
    assert routes.teams == {"trips": Route(channels=channels, quiet_hours=hours, digest_day=DAYS.index("friday"))}
    assert routes.owners == {"ada": Route(channels={"pagerduty": "ada"}, digest_day=None)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("team: {}", ":1: team: found the unknown key 'team': did you mean 'teams'?"),
        ("teams:\n  a:\n    channel: {}", ":3: teams.a.channel: found the unknown key 'channel': did you mean"),
        ("teams:\n  a:\n    digest: monday", ":2: teams.a.channels: is missing: add channels: …"),
        ("teams:\n  a:\n    channels: {}", ":3: teams.a.channels: found {}: name a channel and its address"),
        (
            "default:\n  channels: {email: a@b}\n  quiet_hours:\n    zone: Mars/Base",
            ":4: default.quiet_hours.zone: found 'Mars/Base': There is no time zone 'Mars/Base'",
        ),
        (
            "default:\n  channels: {email: a@b}\n  quiet_hours: {zone: UTC, from: 8}",
            ':3: default.quiet_hours.from: found 8: write a time of the day in quotes, such as "19:00".',
        ),
        (
            f"default:\n  channels: {{email: a@b}}\n  quiet_hours:\n    zone: UTC\n    days_off: [{', '.join(DAYS)}]",
            ":5: default.quiet_hours.days_off: found",
        ),
        ("default:\n  channels: {email: 7}", ":2: default.channels.email: found 7: write text, in quotes"),
        (
            "default: {channels: {email: a@b}}\ndefault: {channels: {email: b@b}}",
            ":2: default: the key is written twice",
        ),
        ("teams: [", ":1: no YAML, from column"),
        ("- a", ": found ['a']: write a mapping of key: value."),
    ],
)
def test_a_mistake_is_told_with_its_line_and_how_to_mend_it(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UnableToReadRoutes) as refused:
        read_routes(written(tmp_path, text))
    assert said in str(refused.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = "teams:\n  a: {channels: {slak: x}, digest: sometimes}\n  b: {}\n"
    with pytest.raises(UnableToReadRoutes) as refused:
        read_routes(written(tmp_path, text))
    assert len(str(refused.value).splitlines()) == 2
    fault = "teams:\n  a: {channels: {slak: x}}\n"
    with pytest.raises(UnableToReadRoutes, match=r":2: teams\.a\.channels\.slak: no such channel"):
        read_routes(written(tmp_path, fault), fault=lambda channel, address: "no such channel")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnableToReadRoutes, match=r"cannot be read: No such file.*Correct ASSAY_ROUTES"):
        read_routes(tmp_path / "gone.yaml")
