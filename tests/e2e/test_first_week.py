"""A bakery's first week with Assay, from an empty home: what its people are told each day, written out by hand."""

import shutil
from collections.abc import Iterator
from datetime import date
from functools import partial
from getpass import getuser
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from pytest_django import DjangoDbBlocker

from tests.crawler.crawl import crawl_as
from tests.e2e.bakery.days import BERLIN, TABLES, before, berlin, day_of, happenings
from tests.e2e.bakery.tables import Tables
from tests.e2e.newcomer import Newcomer, empty_home
from tests.integration.alerting.receivers import Received, webhook

pytestmark = pytest.mark.timeout(1500)

CATALOG = Path(__file__).parent / "bakery" / "catalog.yaml"
OPENED = berlin("03-25 09:00")
TUESDAY, WEDNESDAY, THURSDAY, FRIDAY, SATURDAY, SUNDAY, MONDAY = (date(2026, 3, day) for day in range(24, 31))
BAKED = (WEDNESDAY, THURSDAY, FRIDAY, SATURDAY, SUNDAY)
HELD, FAILED, WARNED, UNABLE = 0, 1, 2, 3
PASSWORD = "of this week alone"
BEN, MIA, LENA = "ben@bakery.example", "mia@bakery.example", "lena@bakery.example"
PEOPLE = {BEN: "viewer", MIA: "owner", LENA: "owner"}
CALM = [  # the worst first, then by name
    ("tills.Branches", "untested"),
    ("hr.Shifts", "good"),
    ("lake.Bakes", "good"),
    ("mart.Complaints", "good"),
    ("mart.Loyalty", "good"),
    ("oven.Bakes", "good"),
    ("pay.Settlements", "good"),
    ("stock.Deliveries", "good"),
    ("tills.Sales", "good"),
    ("us.Orders", "good"),
]
ALL_WELL = dict.fromkeys(TABLES, ("good", "allow")) | {
    "tills.Branches": ("untested", "allow"),  # until its weekly test
    "hr.Shifts": ("untested", "allow"),  # due two days after the day
}


@pytest.fixture
def receiver() -> Iterator[Received]:
    """Where notices are posted to."""
    with webhook(200) as received:
        yield received


@pytest.fixture
def newcomer(
    tmp_path: Path, receiver: Received, monkeypatch: pytest.MonkeyPatch, django_db_blocker: DjangoDbBlocker
) -> Iterator[Newcomer]:
    """Somebody with ten tables and an empty home, on a Wednesday morning."""
    folder = tmp_path / "bakery"
    folder.mkdir()
    shutil.copy(CATALOG, folder)
    tables = Tables(folder=folder)
    before(tables, OPENED)
    variables = {"ASSAY_LOCATION_TILLS": f"sqlite:///{tables.tills}", "ASSAY_WEBHOOK_URL": receiver.url}
    with django_db_blocker.unblock(), empty_home(tmp_path / "home", variables, monkeypatch) as environment:
        yield Newcomer(
            catalog=folder / "catalog.yaml",
            zone=BERLIN,
            days={table: partial(day_of, table) for table in TABLES},
            environment=environment,
            receiver=receiver,
            client=Client(),
            coming=happenings(tables),
        )


def test_the_first_week(newcomer: Newcomer) -> None:
    wednesday_the_tables_become_known(newcomer)
    people_are_let_in(newcomer)
    thursday_all_is_well(newcomer)
    friday_the_settlements_are_late_and_then_there(newcomer)
    saturday_rows_are_lost(newcomer)
    a_catalog_with_a_mistake_changes_nothing(newcomer)
    lost_rows_are_accepted(newcomer)
    sunday_a_folder_has_vanished(newcomer)
    a_catalog_that_lacks_six_tables_changes_nothing(newcomer)
    monday_the_weekly_tests_run_and_the_folder_is_back(newcomer)
    a_user_reports_what_no_test_has_seen(newcomer)
    another_reports_the_same_from_a_shell(newcomer)
    its_owner_confirms_and_mends_it(newcomer)
    tuesday_the_week_is_looked_back_on(newcomer)
    a_file_is_verified_before_it_is_copied(newcomer)


def wednesday_the_tables_become_known(newcomer: Newcomer) -> None:
    """Nothing is run yet: that is what everybody is told."""
    planned = newcomer.program("plan", str(newcomer.catalog))
    assert planned.code == HELD, planned.err
    assert "not testable: stock.Deliveries, duplicates: it has no primary key." in planned.out
    assert newcomer.assay("plan", str(newcomer.catalog)).out == planned.out
    newcomer.until(OPENED)
    synced = newcomer.program("sync", str(newcomer.catalog))
    written = sum(line.startswith("+ test ") for line in planned.out.splitlines())
    assert (synced.code, synced.out.splitlines()[-1]) == (HELD, f"10 datasets with {written} live tests"), synced
    ada = get_user_model().objects.create_superuser("ada", password="of this test alone")
    newcomer.client.force_login(ada)
    newcomer.until(berlin("03-25 09:04"))
    assert newcomer.told() == []
    assert newcomer.answers(TUESDAY) == dict.fromkeys(TABLES, ("untested", "allow"))
    assert newcomer.dashboard() == [(table, "untested") for table in TABLES]
    assert newcomer.cards() == []
    assert newcomer.assay("doctor").code == HELD
    assert crawl_as("admin") == []


def people_are_let_in(newcomer: Newcomer) -> None:
    """Everybody gets a role and a password by the real program, and may sign in."""
    for name, role in PEOPLE.items():
        said = newcomer.program("member", name, "--role", role)
        assert (said.code, said.out) == (HELD, f"{name}: {role}\n"), said
    said = newcomer.program("changepassword", BEN, typed=f"{PASSWORD}\n{PASSWORD}\n")
    assert said.code == HELD, said
    answer = Client().post("/login", {"username": BEN, "password": PASSWORD})
    assert (answer.status_code, answer.headers.get("Location")) == (302, "/")


def thursday_all_is_well(newcomer: Newcomer) -> None:
    """Wednesday has landed and been judged: but for the shifts, which may take two days, and the branches' week."""
    newcomer.until(berlin("03-26 12:00"))
    assert newcomer.told() == []
    assert newcomer.answers(WEDNESDAY) == ALL_WELL | {"tills.Sales": ("untested", "allow")}  # known since nine only
    assert newcomer.dashboard() == CALM  # the shifts, as a gate has them tested that nobody has judged
    assert crawl_as("viewer") == []


def friday_the_settlements_are_late_and_then_there(newcomer: Newcomer) -> None:
    """Due at 02:00, they come at 05:00: tier 0 is told a quarter of an hour after the SLA, and when they are there."""
    newcomer.until(berlin("03-27 03:00"))
    about = "for 2026-03-26 (Europe/Berlin): pay.Settlements (freshness, tier 0)"
    assert newcomer.told() == [("03-27 02:15", "paula", f"freshness fails {about}")]
    assert newcomer.look_up("pay.Settlements", THURSDAY) == "bad"
    assert newcomer.gate("pay.Settlements", THURSDAY) == "block"
    assert newcomer.cards() == ["pay.Settlements freshness"]
    assert newcomer.dashboard() == [("pay.Settlements", "bad"), *calm_but("pay.Settlements")]
    assert newcomer.assay("run", "pay.Settlements", "--window", str(THURSDAY)).code == FAILED
    newcomer.until(berlin("03-27 12:00"))
    assert newcomer.told() == [("03-27 05:05", "paula", f"freshness holds again {about}")]
    assert newcomer.answers(THURSDAY) == ALL_WELL
    assert newcomer.dashboard() == CALM
    assert newcomer.cards() == []
    assert newcomer.assay("run", "pay.Settlements", "--window", str(THURSDAY)).code == HELD
    assert crawl_as("owner") == []


def saturday_rows_are_lost(newcomer: Newcomer) -> None:
    """A fifth of Friday's 3,000 bakes never come: due at 06:00, failed four hours later, told of at eleven."""
    newcomer.until(berlin("03-28 08:00"))
    assert newcomer.told() == []
    assert (newcomer.look_up("lake.Bakes", FRIDAY), newcomer.gate("lake.Bakes", FRIDAY)) == ("bad", "block")
    newcomer.until(berlin("03-28 12:00"))
    about = "completeness:oven.Bakes fails for 2026-03-27 (Europe/Berlin):"
    assert newcomer.told() == [
        ("03-28 11:00", "lena", f"{about} lake.Bakes (completeness, tier 2)"),
        ("03-28 11:00", "mia", f"{about} upstream lake.Bakes (completeness, tier 2)"),
    ]
    assert newcomer.answers(FRIDAY) == ALL_WELL | {"lake.Bakes": ("bad", "block")}
    assert newcomer.dashboard() == [("lake.Bakes", "bad"), *calm_but("lake.Bakes")]
    assert newcomer.cards() == ["lake.Bakes completeness"]  # of the root cause alone
    assert newcomer.assay("run", "lake.Bakes", "--window", str(FRIDAY)).code == FAILED
    assert crawl_as("producer") == []


def a_catalog_with_a_mistake_changes_nothing(newcomer: Newcomer) -> None:
    """It is refused with its file and line."""
    newcomer.until(berlin("03-28 14:00"))
    good = newcomer.catalog.read_text()
    newcomer.catalog.write_text(good.replace("    tier: 0\n", "    tier: zero\n"))
    line = good[: good.index("    tier: 0\n")].count("\n") + 1
    for said in (newcomer.program("sync", str(newcomer.catalog)), newcomer.assay("plan", str(newcomer.catalog))):
        assert said.code == UNABLE
        assert f"catalog.yaml:{line}: datasets[5].tier: found 'zero'" in said.err
    newcomer.catalog.write_text(good.replace("  - name: us.Orders", "\t- name: us.Orders"))
    line = good[: good.index("  - name: us.Orders")].count("\n") + 1
    said = newcomer.assay("sync", str(newcomer.catalog))
    assert (said.code, f"catalog.yaml:{line}" in said.err) == (UNABLE, True)
    newcomer.catalog.write_text(good)
    nothing_changed(newcomer)


def lost_rows_are_accepted(newcomer: Newcomer) -> None:
    """Their owner says that they will not come: that ends the incident, and nobody is told of those rows again."""
    newcomer.until(berlin("03-28 15:00"))
    (incident,) = [each for each in newcomer.get("incidents")["results"] if each["category"] == "completeness"]
    reason = {"reason": "two ovens' loggers were broken: these bakes are gone"}
    answer = newcomer.client.post(f"/api/v1/incidents/{incident['id']}/accept", reason, "application/json")
    assert answer.status_code == 200
    newcomer.until(berlin("03-28 23:00"))
    lost = "completeness:oven.Bakes for 2026-03-27 (Europe/Berlin)"
    accepted = f"{lost} ended (accepted): lake.Bakes (completeness, tier 2)"
    assert newcomer.told() == [
        ("03-28 15:00", "lena", accepted),
        ("03-28 15:00", "mia", accepted),
    ]
    assert (newcomer.look_up("lake.Bakes", FRIDAY), newcomer.gate("lake.Bakes", FRIDAY)) == ("reported", "warn")
    assert newcomer.cards() == []


def sunday_a_folder_has_vanished(newcomer: Newcomer) -> None:
    """Somebody moves it away at 09:10: within an hour its owner hears of it, once; the data is good no more."""
    newcomer.until(berlin("03-29 12:00"))
    debt = "no-card-is-in-debt"
    assert newcomer.told() == [  # three tests of four days and, of the three that began since, two of the columns
        ("03-29 10:00", "mia", f"{debt} could not be judged for {THURSDAY} (Europe/Berlin): mart.Loyalty (and 17 more)")
    ]
    assert newcomer.answers(SATURDAY) == ALL_WELL | {"mart.Loyalty": ("unknown", "block")}
    assert (newcomer.look_up("lake.Bakes", FRIDAY), newcomer.gate("lake.Bakes", FRIDAY)) == ("reported", "warn")
    assert newcomer.dashboard() == [
        ("mart.Loyalty", "unknown"),
        ("lake.Bakes", "reported"),
        *calm_but("lake.Bakes", "mart.Loyalty"),
    ]
    assert newcomer.cards() == []
    doctor = newcomer.program("doctor")
    assert (doctor.code, "lake/ber/loyalty" in doctor.out, doctor.err) == (FAILED, True, "")
    assert newcomer.assay("run", "mart.Loyalty", "--window", str(SATURDAY)).code == UNABLE
    report = newcomer.assay("report").out
    assert "unknown now: mart.Loyalty" in report
    assert crawl_as("operator") == []


def a_catalog_that_lacks_six_tables_changes_nothing(newcomer: Newcomer) -> None:
    """More than a tenth of the tables at once, and more than five: that is refused unless it is meant."""
    good = newcomer.catalog.read_text()
    short = good[: good.index("  - name: stock.Deliveries")]
    newcomer.catalog.write_text(
        short + "lineage:\n  - {upstream: oven.Bakes, downstream: lake.Bakes, one_to_one: true}\n"
    )
    said = newcomer.program("sync", str(newcomer.catalog))
    assert (said.code, "--allow-removal" in said.err) == (UNABLE, True)
    said = newcomer.assay("plan", str(newcomer.catalog))
    assert (said.code, "--allow-removal" in said.out) == (FAILED, True)
    newcomer.catalog.write_text(good)
    nothing_changed(newcomer)


def monday_the_weekly_tests_run_and_the_folder_is_back(newcomer: Newcomer) -> None:
    """Moved back at 09:10, it is judged in five minutes, and who was told hears it; accepted rows stay quiet."""
    newcomer.until(berlin("03-30 12:00"))
    debt = "no-card-is-in-debt"
    assert newcomer.told() == [
        ("03-30 09:15", "mia", f"{debt} can be judged again for {THURSDAY} (Europe/Berlin): mart.Loyalty (and 17 more)")
    ]
    assert newcomer.answers(SUNDAY) == ALL_WELL
    of_bakes = {day: (newcomer.look_up("lake.Bakes", day), newcomer.gate("lake.Bakes", day)) for day in BAKED}
    assert of_bakes == dict.fromkeys(BAKED, ("good", "allow")) | {FRIDAY: ("reported", "warn")}
    assert newcomer.dashboard() == [("lake.Bakes", "reported"), *calm_but("lake.Bakes")]
    assert newcomer.cards() == []
    assert newcomer.assay("doctor").code == HELD
    assert newcomer.assay("run", "mart.Loyalty", "--window", str(SATURDAY)).code == HELD
    assert crawl_as("anonymous") == []


def a_user_reports_what_no_test_has_seen(newcomer: Newcomer) -> None:
    """Of the very day whose bakes were lost: that loss is accepted, so the owner of the complaints hears of it."""
    made = newcomer.assay("token", "create", BEN, "--scope", "act", "--scope", "read", "--name", "notebook")
    token = made.out.strip()
    assert (made.code, len(token)) == (HELD, 64), made
    start, end = day_of("mart.Complaints", FRIDAY)
    answer = Client().post(
        "/api/v1/reports",
        {
            "dataset": "mart.Complaints",
            "window": f"{start.isoformat()}/{end.isoformat()}",
            "saw": "values wrong",
            "description": "every complaint has five stars",
        },
        "application/json",
        headers={"Authorization": f"Token {token}"},
    )
    assert (answer.status_code, answer.json()["message"]) == (201, f"It is incident 4 now. {MIA} is told now.")
    newcomer.until(berlin("03-30 12:30"))
    assert newcomer.told() == [("03-30 12:00", "mia", "Report 1 on mart.Complaints: is it bad?")]
    assert of_complaints(newcomer) == ("reported", "warn")
    assert newcomer.cards() == ["mart.Complaints custom"]
    listed = newcomer.assay("token", "list", BEN, "--json").json["tokens"]
    assert [(each["user"], each["name"], each["scopes"]) for each in listed] == [(BEN, "notebook", ["act", "read"])]


def another_reports_the_same_from_a_shell(newcomer: Newcomer) -> None:
    """It is known already: that is what they read, and its owner hears that one more has seen it."""
    about = ("mart.Complaints", "all of them have five stars", "--window", str(FRIDAY), "--saw", "values wrong")
    said = newcomer.assay("claim", *about)
    known = "This is known already as incident 4, which ben@bakery.example reported"
    added = f"your report was added to it. {MIA} is told now."
    assert (said.code, said.out) == (HELD, f"Report 2 is saved. {known}; {added}\n"), said


def its_owner_confirms_and_mends_it(newcomer: Newcomer) -> None:
    """Confirmed, it blocks; mended, it is over: both reporters hear of both."""
    mia = Client()
    mia.force_login(get_user_model().objects.get(username=MIA))
    assert mia.post("/api/v1/reports/1/confirm", {}, "application/json").status_code == 200
    newcomer.until(berlin("03-30 13:00"))
    said = "Report 1 on mart.Complaints: confirmed"
    assert set(newcomer.told()) == {
        ("03-30 12:30", "mia", "Report 2 on mart.Complaints: it is known"),
        *(("03-30 12:30", who, said) for who in ("ben", getuser())),
    }
    assert of_complaints(newcomer) == ("bad", "block")
    assert newcomer.dashboard() == [
        ("mart.Complaints", "bad"),
        ("lake.Bakes", "reported"),
        *calm_but("lake.Bakes", "mart.Complaints"),
    ]
    newcomer.until(berlin("03-30 18:00"))
    assert mia.post("/api/v1/reports/1/fix", {}, "application/json").status_code == 200
    newcomer.until(berlin("03-30 18:30"))
    said = "Report 1 on mart.Complaints: fixed"
    assert newcomer.told() == [("03-30 18:00", who, said) for who in ("ben", getuser())]
    assert of_complaints(newcomer) == ("good", "allow")
    assert newcomer.cards() == []


def tuesday_the_week_is_looked_back_on(newcomer: Newcomer) -> None:
    """The branches have their weekly test too, and the report counts what was bad: for how long, and who saw it."""
    newcomer.until(berlin("03-31 21:00"))
    assert newcomer.told() == []
    assert newcomer.answers(MONDAY) == ALL_WELL | {"tills.Branches": ("good", "allow")}
    assert newcomer.dashboard() == [
        ("lake.Bakes", "reported"),
        *((table, "good") for table in TABLES if table != "lake.Bakes"),
    ]
    found = newcomer.assay("report", "--from", OPENED.isoformat(), "--json").json
    scored = {row["dataset"]: (row["precision"], row["recall"], row["data_quality"]) for row in found["rows"]}
    week = 155.0  # hours from Wednesday, nine, to Tuesday evening: one less by the clock
    assert scored == dict.fromkeys(TABLES, (None, None, 1.0)) | {
        "lake.Bakes": (
            1.0,
            1.0,
            pytest.approx(1 - 5 / week),
        ),  # from ten until it was accepted at three
        "pay.Settlements": (1.0, 1.0, pytest.approx(1 - (3 + 5 / 60) / week)),  # from two to five past five
        "mart.Complaints": (None, 0.0, pytest.approx(1 - 6 / week)),  # from noon to six, and no test saw it
    }
    assert found["total"]["data_quality"] == pytest.approx(1 - (5 + 3 + 5 / 60 + 6) / (10 * week))
    assert found["unknown"] == []
    stray = {row["dataset"] for row in found["rows"] for each in row["categories"] if is_untested(each)}
    assert stray == set(TABLES) - {"lake.Bakes", "tills.Branches"}  # that no row is stray says nothing of the others
    assert "99.09%" in newcomer.assay("report", "--from", OPENED.isoformat()).out
    assert crawl_as("admin") == []


def a_file_is_verified_before_it_is_copied(newcomer: Newcomer) -> None:
    """Without a catalogue: what holds, what does not, and a mistake in the checks."""
    checks = newcomer.catalog.parent / "checks.yaml"
    checks.write_text("checks:\n  - row_count() between 2000 and 3000\n")
    file = str(Tables(folder=newcomer.catalog.parent).part("pay.Settlements", MONDAY) / "part-0.parquet")
    assert newcomer.assay("verify", file, "--checks", str(checks)).code == HELD
    checks.write_text("checks:\n  - row_count() > 3000\n")
    said = newcomer.assay("verify", file, "--checks", str(checks))
    assert (said.code, "2500" in said.out) == (FAILED, True), said
    checks.write_text("checks:\n  - size() > 3000\n")
    said = newcomer.assay("verify", file, "--checks", str(checks))
    assert (said.code, f"{checks}:2" in said.err) == (UNABLE, True), said


def of_complaints(newcomer: Newcomer) -> tuple[str, str]:
    """What look-up and gate say of Friday's complaints."""
    return newcomer.look_up("mart.Complaints", FRIDAY), newcomer.gate("mart.Complaints", FRIDAY)


def is_untested(category: dict[str, object]) -> bool:
    """Whether nothing has tested the rows of a category."""
    return (category["category"], category["data_quality"]) == ("completeness", None)


def nothing_changed(newcomer: Newcomer) -> None:
    """The right catalogue has nothing to change."""
    planned = newcomer.assay("plan", str(newcomer.catalog))
    assert (planned.code, planned.out.splitlines()[-1]) == (
        HELD,
        "source bakery: 0 +, 0 ~, 0 -; what is removed is retired after a day",
    )


def calm_but(*others: str) -> list[tuple[str, str]]:
    """The calm list without some."""
    return [(name, status) for name, status in CALM if name not in others]
