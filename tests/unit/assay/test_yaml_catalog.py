"""The catalog as a YAML file: what it means, and what is said of a wrong one."""

from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.catalog.profile import BindingProfile, Column, LineageProfile
from assay.catalog.yaml.provider import UnableToReadCatalog, load
from assay.time.stored_times import Holds
from assay.time.windows import Granularity

EXAMPLE = Path(__file__).parents[3] / "examples" / "catalog.yaml"
TRIPS = """
- name: raw.trips
  owner: ann
  tier: 1
  columns: {trip_id: bigint, datestr: string}
  primary_key: [trip_id]
  replicas: [{datacenter: sea, storage: parquet, location: /lake/trips}]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "catalog.yaml"
    path.write_text(dedent(text))
    return path


def trips(**extra: str) -> str:
    """A catalog of raw.trips with keys put in place or added."""
    lines = [line for line in TRIPS.strip().splitlines() if line[2:].split(":")[0] not in extra]
    return "\n".join(["datasets:", *lines, *(f"  {key}: {value}" for key, value in extra.items())])


def problems(folder: Path, text: str) -> str:
    with pytest.raises(UnableToReadCatalog) as raised:
        load(write(folder, text))
    return str(raised.value)


def test_the_example_is_read_whole() -> None:
    catalog = load(EXAMPLE)
    names = [dataset.full_name for dataset in catalog.datasets]
    assert names == ["app.orders", "raw.orders", "raw.trips", "mart.trips"]
    assert catalog.lineage[1] == LineageProfile(upstream="raw.trips", downstream="mart.trips", one_to_one=True)
    assert catalog.custom[0].schedule == "partition"
    assert catalog.custom[0].sustain == timedelta(hours=4)


def test_a_dataset_has_what_its_file_says() -> None:
    mart, trips_ = load(EXAMPLE).datasets[3], load(EXAMPLE).datasets[2]
    assert (mart.namespace, mart.name, mart.owner, mart.severity) == ("mart", "trips", "max@example.com", "hard")
    assert mart.slas.completeness == pytest.approx(0.995)
    assert trips_.columns[0] == Column(name="trip_id", type="bigint")
    assert trips_.partition is not None
    assert (trips_.partition.granularity, trips_.partition.first) == (Granularity.DAY, "2013-01-01")
    assert (trips_.slas.freshness, trips_.retention) == (timedelta(hours=3), timedelta(days=400))


def test_relative_folders_are_taken_from_the_file() -> None:
    replicas = load(EXAMPLE).datasets[2].replicas
    assert [replica.location for replica in replicas] == [
        str(EXAMPLE.parent / "lake/sea/trips"),
        str(EXAMPLE.parent / "lake/phx/trips"),
    ]


def test_a_secret_stays_a_name() -> None:
    assert load(EXAMPLE).datasets[0].replicas[0].location == "env:ASSAY_LOCATION_ORDERS"


@pytest.mark.parametrize("password", ["hush", "hush" * 30])
def test_a_refused_location_is_named_without_its_password(tmp_path: Path, password: str) -> None:
    place = f"[{{datacenter: s, storage: sql, location: 'mysql://u:{password}@h/d', options: {{table: t}}}}]"
    message = problems(tmp_path, trips(replicas=place))
    assert ("the location holds a password" in message, "hush" in message) == (True, False)


@pytest.mark.parametrize(
    ("extra", "line", "sentence"),
    [
        ({"tier": "7"}, 7, "datasets[0].tier: found 7: input should be less than or equal to 5."),
        ({"tier": "'1'"}, 7, "datasets[0].tier: found '1': write a whole number."),
        ({"ownr": "bob"}, 8, "found the unknown key 'ownr': did you mean 'owner'? Known here: name, owner,"),
        ({"primary_key": "[trip_id, trip_id]"}, 7, "trip_id is named more than once"),
        (
            {"primary_key": "[tripid]"},
            7,
            "found 'tripid', a column that columns does not name: did you mean 'trip_id'?",
        ),
        ({"slas": "{freshness: 4 hours}"}, 8, "slas.freshness: found '4 hours': '4 hours' is no length of time"),
        ({"slas": "{freshness: 4}"}, 8, "found 4: write a number and s, m, h, d or w, such as 4h."),
        ({"slas": "{completeness: 1.2}"}, 8, "slas.completeness: found 1.2: input should be less than or equal to 1."),
        ({"slas": "{completeness: .nan}"}, 8, "slas.completeness: found nan"),
        ({"severity": "loud"}, 8, "severity: found 'loud': input should be 'hard' or 'soft'."),
        ({"allow_empty": "'no'"}, 8, "found 'no': write true or false."),
        ({"partition": "{column: d, granularity: day, time_zone: Mars}"}, 8, "There is no time zone 'Mars'"),
        ({"partition": "{column: d, granularity: day, key_format: '%m'}"}, 8, "does not tell one day from another"),
        ({"partition": "{column: d, granularity: year}"}, 8, "granularity: found 'year'"),
        ({"partition": "{column: d, granularity: day, first: 2013}"}, 8, "found 2013: write text, in quotes"),
        ({"partition": "{column: d, granularity: day, first: 1.1.13}"}, 8, "'1.1.13' does not have the key format"),
        ({"replicas": "[]"}, 7, "replicas: found []: list should have at least 1 item"),
        (
            {"replicas": "[{datacenter: sea, storage: tape, location: x}]"},
            7,
            "should be 'parquet', 'iceberg', 'delta', 'orc', 'csv', 'json', 'table' or 'sql'",
        ),
        ({"replicas": "[{datacenter: s, storage: sql, location: x, options: {table: t}}]"}, 7, "is an SQLAlchemy URL"),
        ({"replicas": "[{datacenter: s, storage: sql, location: 'env:X'}]"}, 7, "needs the name of its table"),
        ({"name": "trips"}, 6, "datasets[0].name: found 'trips'"),
    ],
)
def test_a_wrong_value_is_named_with_its_line_and_how_to_mend_it(
    tmp_path: Path, extra: dict[str, str], line: int, sentence: str
) -> None:
    text = trips(**extra) if "name" not in extra else trips().replace("raw.trips", "trips")
    message = problems(tmp_path, text)
    assert message.startswith(f"{tmp_path / 'catalog.yaml'}:{line if 'name' not in extra else 2}: ")
    assert sentence in message
    assert len(message.splitlines()) == 1


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    text = f"""{trips(tier="9", severity="loud")}
lineage:
  - {{upstream: raw.trip, downstream: raw.trips}}
  - {{upstream: raw.trips, downstream: raw.trips}}
tests:
  - {{dataset: raw.nothing, name: a, assertion: row_count() > 0, schedule: daily}}
settings: {{}}
"""
    lines = problems(tmp_path, text).splitlines()
    assert [line.split(": ", 2)[1] for line in lines] == [
        "datasets[0].tier",
        "datasets[0].severity",
        "lineage[0].upstream",
        "lineage[1]",
        "tests[0].schedule",
        "settings",
    ]
    assert "did you mean 'raw.trips'?" in lines[2]


def test_what_names_a_wrong_dataset_is_not_wrong_itself(tmp_path: Path) -> None:
    text = trips(tier="9") + "\ntests: [{dataset: raw.trips, name: a, assertion: row_count() > 0}]"
    assert len(problems(tmp_path, text).splitlines()) == 1


@pytest.mark.parametrize(
    ("addition", "sentence"),
    [
        (TRIPS, "datasets[1].name: found 'raw.trips' again, first at"),
        ("lineage: [{upstream: raw.x, downstream: raw.trips}]", "found 'raw.x', a dataset that datasets does not name"),
        ("tests: [{dataset: raw.trips, name: a, assertion: x, schedule: partition}]", "raw.trips has no partition"),
        ("datasets: []", "datasets: the key is written twice, first on line 1"),
        (
            "lineage: [{upstream: raw.trips, downstream: raw.trips, keys: {trip: trip_id}}]",
            "lineage[0].keys.trip: found 'trip', a column that primary_key does not name",
        ),
    ],
)
def test_parts_that_contradict_each_other_are_refused(tmp_path: Path, addition: str, sentence: str) -> None:
    assert sentence in problems(tmp_path, f"{trips()}\n{addition.strip()}\n")


def test_a_key_that_is_written_twice_is_refused(tmp_path: Path) -> None:
    message = problems(tmp_path, trips() + "\n  owner: bob")
    assert "catalog.yaml:8: owner: the key is written twice, first on line 3: keep one of the two." in message


def test_an_anchor_may_hold_what_datasets_share(tmp_path: Path) -> None:
    text = """
    datasets:
      - &shared
        name: raw.trips
        owner: ann
        tier: 1
        replicas: [{datacenter: sea, storage: table, location: trips}]
      - <<: *shared
        name: raw.users
    """
    assert [dataset.full_name for dataset in load(write(tmp_path, text)).datasets] == ["raw.trips", "raw.users"]


def test_a_malformed_file_is_told_by_line_and_column(tmp_path: Path) -> None:
    message = problems(tmp_path, "datasets:\n  - name: [raw.trips\n")
    assert "catalog.yaml:3: no YAML, from column 1: " in message


@pytest.mark.parametrize(
    "text",
    [
        *("", "- a", "datasets", "!!python/object:os.system x", "{a: {b"),
        pytest.param("[" * 5000, marks=pytest.mark.thorough),
    ],
)
def test_what_is_no_catalog_is_refused(tmp_path: Path, text: str) -> None:
    assert "catalog.yaml:1" in problems(tmp_path, text)


def test_a_catalog_without_datasets_is_empty(tmp_path: Path) -> None:
    assert load(write(tmp_path, "datasets: []")).datasets == ()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=6) | st.integers(), each, max_size=3),
    max_leaves=8,
)
KEYS = ["name", "tier", "replicas", "columns", "primary_key", "partition", "slas", "sustain", "severity", "retention"]


@settings(max_examples=3 * settings().max_examples, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(KEYS), value=ANYTHING, section=ANYTHING)
def test_whatever_is_written_is_read_or_refused_by_line(
    tmp_path: Path, key: str, value: object, section: object
) -> None:
    catalog = yaml.safe_load(trips())
    catalog["datasets"][0][key] = value
    catalog["lineage"] = section
    lines: list[int] = []
    try:
        load(write(tmp_path, yaml.safe_dump(catalog)))
    except UnableToReadCatalog as error:
        lines = [problem.line for problem in error.problems]
    assert all(line > 0 for line in lines)


def test_the_partition_key_may_be_part_of_the_primary_key_without_being_declared(tmp_path: Path) -> None:
    text = trips(primary_key="[trip_id, day]", partition="{column: day, granularity: day}")
    assert load(write(tmp_path, text)).datasets[0].primary_key == ("trip_id", "day")


ORDERS = """
datasets:
  - name: app.orders
    owner: ola
    tier: 2
    partition: {{column: created_at, granularity: day, {partition}}}
    replicas: [{{datacenter: sea, {storage}, location: "env:ASSAY_LOCATION_ORDERS"}}]
"""
SQL = "storage: sql, options: {table: orders}"


def orders(partition: str, storage: str = SQL) -> str:
    return ORDERS.format(partition=partition, storage=storage)


def test_a_partition_column_may_hold_times(tmp_path: Path) -> None:
    text = orders("holds: time, stored_time_zone: Europe/Berlin, time_zone: Europe/Berlin")
    partition = load(write(tmp_path, text)).datasets[0].partition
    assert partition is not None
    assert (partition.holds, partition.stored_time_zone) == (Holds.TIME, "Europe/Berlin")


def test_a_partition_column_holds_keys_unless_something_else_is_said(tmp_path: Path) -> None:
    partition = load(write(tmp_path, orders("time_zone: UTC"))).datasets[0].partition
    assert partition is not None
    assert partition.holds is Holds.KEY


@pytest.mark.parametrize(
    ("partition", "storage", "said"),
    [
        ("holds: times", SQL, "datasets[0].partition.holds: found 'times': input should be 'key', 'time', 'epoch_sec"),
        ("holds: time, stored_time_zone: Berlin", SQL, "There is no time zone 'Berlin'"),
        ("holds: epoch_seconds, stored_time_zone: Europe/Berlin", SQL, "write holds: time beside it, or leave it out"),
        ("stored_time_zone: Europe/Berlin", SQL, "write holds: time beside it, or leave it out"),
        (
            "holds: time",
            "storage: parquet",
            "the replica in 'sea' is stored as parquet, and only a sql table is cut by",
        ),
    ],
)
def test_times_that_cut_nothing_are_refused(tmp_path: Path, partition: str, storage: str, said: str) -> None:
    assert said in problems(tmp_path, orders(partition, storage))


BINDING = "- {pipeline: load, dataset: raw.trips, test: fares, gate: weak}"


def test_a_binding_has_what_its_file_says(tmp_path: Path) -> None:
    (binding,) = load(write(tmp_path, f"{trips()}\nbindings:\n{BINDING}\n")).bindings
    assert binding == BindingProfile(pipeline="load", dataset="raw.trips", test="fares", gate="weak")
    assert binding.place.endswith("catalog.yaml:9")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (BINDING.replace("weak", "hard"), "bindings[0].gate: found 'hard': input should be 'strong' or 'weak'."),
        (BINDING.replace("raw.trips", "raw.trip"), "found 'raw.trip', a dataset that datasets does not name: did you"),
        (
            f"{BINDING}\n{BINDING.replace('weak', 'strong')}",
            "bindings[1]: found 'load' bound to raw.trips, test 'fares', again",
        ),
        (BINDING.replace("pipeline", "pipe"), "bindings[0].pipeline: is missing: add pipeline"),
    ],
)
def test_a_wrong_binding_is_told_with_how_to_mend_it(tmp_path: Path, text: str, sentence: str) -> None:
    assert sentence in problems(tmp_path, f"{trips()}\nbindings:\n{text}\n")
