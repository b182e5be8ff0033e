"""The arithmetic of the engine's benchmark, worked out by hand, and that each race can be run."""

import pytest

from benchmarks.engine.contenders import NAMES, contender
from benchmarks.engine.contenders.ours import Ours
from benchmarks.engine.contenders.small_together import SmallTogether
from benchmarks.engine.figures import HEADINGS, Part, rows
from benchmarks.engine.meter import Cost
from benchmarks.engine.parts import (
    DAY,
    FOUR_HUNDRED,
    HISTORY,
    HOMES,
    PARTS,
    SMALL,
    SMALL_WAYS,
    Asked,
    grouped,
    repeats_of,
)
from benchmarks.engine.race import Race, as_json
from benchmarks.engine.report import DOCS, between_markers, markdown
from execution_engine.engines.protocol import SparkOptions


def raced(**costs: list[Cost]) -> Race:
    """Of contenders that make a hundred checks each, and agree; the first is the base."""
    race = Race(environment="assay", pyspark="4.3.0", base=next(iter(costs)))
    for name, samples in costs.items():
        race.costs[name] = samples
        race.checks[name], race.failed[name] = 100, frozenset()
    return race


def of_seconds(*seconds: float) -> list[Cost]:
    """A round each, on one core."""
    return [Cost(wall=each, cpu=each) for each in seconds]


def line(race: Race, name: str) -> dict[str, str]:
    """The contender's line by heading; what is remarked is in the last column, which has none."""
    (found,) = [row for row in rows(race) if row[0] == name]
    return dict(zip(HEADINGS, found, strict=True)) | {"remark": found[-1]}


def test_a_contender_of_half_the_time_makes_twice_as_many_checks_a_second() -> None:
    race = raced(off=of_seconds(4, 5, 8), on=of_seconds(2, 2.5, 4))
    assert line(race, "on")["wall ×"] == "0.50"
    assert (line(race, "off")["checks/s ×"], line(race, "on")["checks/s ×"]) == ("1.00", "2.00")
    assert (line(race, "off")["checks/s"], line(race, "on")["checks/s"]) == ("20", "40")


def test_a_ratio_is_the_median_of_the_rounds_and_one_slow_round_of_both_changes_nothing() -> None:
    race = raced(day=of_seconds(1, 1, 9), merged=of_seconds(1.05, 1.2, 9.45))
    assert line(race, "merged")["CPU ×"] == "1.05"


def test_ratios_are_for_the_same_number_of_checks() -> None:
    race = raced(hundred=of_seconds(1), thousand=of_seconds(2))
    race.checks["thousand"] = 1_000
    assert (line(race, "thousand")["wall ×"], line(race, "thousand")["checks/s ×"]) == ("0.20", "5.00")


def test_a_limit_stands_beside_the_contender_that_has_one() -> None:
    race = raced(day=of_seconds(1), merged=of_seconds(1.05))
    race.limits = {"merged": 1.1}
    assert (line(race, "day")["remark"], line(race, "merged")["remark"]) == ("", "CPU ×: limit 1.1")
    assert as_json(race)["limits"] == {"merged": 1.1}


def test_who_was_stopped_before_a_round_ended_has_a_line_as_long_as_the_others() -> None:
    race = raced(g=of_seconds(1))
    race.stopped["slow"] = "stopped after 90 s"
    assert (line(race, "slow")["n"], line(race, "slow")["remark"]) == ("0", "stopped after 90 s")
    table = markdown([Part(name="suite", heading="40 checks", race=race)]).splitlines()[2:]
    assert {row.count("|") for row in table} == {len(HEADINGS) + 1}


def test_the_peers_run_apart_from_what_is_our_own() -> None:
    own = grouped([name for name in NAMES if name not in HOMES])
    assert list(own.values()) == [["g", "ours", "ours_on_frame", "ours_without_kernels", "one_query_each"]]
    assert all(names[0] == "g" for names in grouped([*HOMES]).values())
    assert len(grouped([*HOMES])) == len(HOMES)


def test_many_rows_are_run_less_often_unless_one_says_how_often() -> None:
    unsaid, said = (Asked(sizes=(), only=(), repeats=repeats) for repeats in (None, 7))
    assert (repeats_of(10_000, unsaid), repeats_of(10_000_000, unsaid)) == (5, 3)
    assert (repeats_of(10_000, said), repeats_of(10_000_000, said)) == (7, 7)


@pytest.mark.parametrize("name", sorted({*NAMES, *FOUR_HUNDRED, *SMALL, *SMALL_WAYS, *HISTORY, *DAY} - {*HOMES}))
def test_every_contender_of_a_race_of_our_own_can_be_made(name: str) -> None:
    assert contender(name).cannot == frozenset()


def options_of(name: str) -> SparkOptions:
    """Those that the engine of a contender is made with."""
    made = contender(name)
    assert isinstance(made, Ours | SmallTogether)
    return made.options


def test_the_ways_differ_in_nothing_but_the_setting_of_which_they_tell() -> None:
    said = [(options_of(name).native, options_of(name).most_bytes_here > 0) for name in SMALL_WAYS]
    assert said == [(False, False), (True, False), (True, True)]
    assert [options_of(name).native for name in ("ours", "ours_without_kernels")] == [True, False]
    names = ("ours", "ours_without_kernels", *SMALL_WAYS)
    assert len({(options_of(name).master, str(options_of(name).conf)) for name in names}) == 1


@pytest.mark.parametrize("part", PARTS)
def test_the_page_has_a_place_for_the_tables_of_each_part(part: str) -> None:
    assert f"<!-- {part} -->\nmeasured\n<!-- /{part} -->" in between_markers(DOCS.read_text(), part, "measured")
