"""What a run would refuse is refused when a test is saved: SQL with the guard's reason, groups and histories."""

from typing import Any

import pytest

from assay.access import Role
from assay.models import DataTest
from tests.factories import DatasetFactory
from tests.integration.web.people import client

REFUSED = [
    ("query(\"select reflect('a', 'b') from raw.trips\") > 0", "reflect is not allowed; it runs code on the machine"),
    ('query("select map(s) from raw.trips") > 0', "map takes pairs"),
    ('query("select count(*) from raw.trips a join raw.trips b") > 0', "which rows belong together"),
    ('query("select count(*) from raw.nowhere") > 0', "there is no table raw.nowhere"),
    ('query("select count(*) from nowhere") > 0', "there is no table nowhere"),
    ('query("show tables") > 0', "SHOW is a command"),
    ('query("select `odd name` from raw.trips") > 0', "is no name"),
    ('compliance("fare > (select 1)") > 0', "query"),
    ("compliance(\"input_file_name() = 'a'\") > 0", "input_file_name is not allowed"),
    ("row_count(where=\"java_method('a', 'b') = 'x'\") > 0", "java_method is not allowed"),
    ('mean(fare, where="city rlike concat(city)") > 0', "the pattern of rlike is computed"),
    ("completeness(fare) >= 0.99 by town", "has no column town"),
    ("freshness() < 4h by city", "freshness cannot be measured by group"),
    ("mean(row_count(), last=4, every=36h) > 0", "36h is no whole number of days"),
    ("quantile(fare, 2) > 0", "quantile(fare, 2)"),
    ("mean(row_count(dataset='raw.weekly'), last=4) > 0", "partitions do not align"),
]
ALLOWED = [
    'query("select max(fare) from trips") > 0',
    "query(\"select max(fare) from RAW.trips where datestr = '{window.start-7d:date}'\") > 0",
    'query("with x as (select id from trips) select count(*) from x") > 0',
    'query("select count(`select`) from raw.open") > 0',
    "compliance(\"city rlike '^[a-z]{2}$'\") > 0",
    "row_count(where=\"datestr = '{window.start:date}'\") > 0",
    "completeness(fare) >= 0.99 by city",
    "mean(fare) between 0.5 * lag(mean(fare), 7) and 2 * lag(mean(fare), 7) by city for 95 % of groups",
    "row_count() >= 0.9 * mean(row_count(), last=4, every=1w) and distinct_count(id) = row_count()",
]


@pytest.fixture(autouse=True)
def trips(api: Any) -> Any:
    """Trips, with columns; a table whose columns nobody knows; and one of weeks."""
    types = {"id": "bigint", "fare": "double", "city": "string"}
    columns = [{"name": name, "type": type_} for name, type_ in types.items()]
    DatasetFactory.create(name="open", columns=[])
    DatasetFactory.create(name="weekly", granularity="week", key_format="%G-W%V")
    return DatasetFactory.create(name="trips", columns=columns, owner="rita", team="rides")


def save(api: Any, assertion: str) -> Any:
    return api.post("/api/v1/data-tests", {"dataset": "raw.trips", "name": "own", "assertion": assertion}, "json")


@pytest.mark.parametrize(("assertion", "why"), REFUSED)
def test_what_the_run_would_refuse_is_not_saved(api: Any, assertion: str, why: str) -> None:
    answer = save(api, assertion)
    assert (answer.status_code, DataTest.objects.count(), why in answer.json()["detail"]) == (400, 0, True)


@pytest.mark.parametrize("assertion", ALLOWED)
def test_what_it_allows_is_saved(api: Any, assertion: str) -> None:
    answer = save(api, assertion)
    assert answer.status_code == 201, answer.content


@pytest.mark.parametrize("table", ["pay", "PAY", "`pay`", "hr.pay", "`hr`.`pay`", "raw.secret", "secret", "Secret"])
def test_a_table_without_its_namespace_is_judged_as_the_one_that_it_means(table: str) -> None:
    columns = [{"name": "id", "type": "bigint"}, {"name": "salary", "type": "bigint"}]
    more: dict[str, Any] = {"columns": columns, "owner": "hanna", "team": "hr", "readers": "team:hr"}
    DatasetFactory.create(namespace="hr", name="pay", **more)
    DatasetFactory.create(name="secret", **more)
    answer = save(client("rita", Role.OWNER, "rides"), f'query("select max(salary) from {table}") > 0')
    assert (answer.status_code, DataTest.objects.count()) == (400, 0)
