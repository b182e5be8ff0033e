"""Which assertions a user may write over REST: groups and steps are checked against the dataset."""

import pytest
from rest_framework.test import APIClient

from tests.factories import DatasetFactory


def written(api: APIClient, assertion: str) -> tuple[int, str]:
    """The status and the error of the answer to a new test of a daily table with the columns id, fare and city."""
    columns = [
        {"name": name, "type": kind} for name, kind in (("id", "bigint"), ("fare", "double"), ("city", "string"))
    ]
    dataset = DatasetFactory.create(columns=columns)
    DatasetFactory.create(namespace="raw", name="weekly", granularity="week", key_format="%G-W%V")
    body = {"name": "mine", "dataset": dataset.full_name, "assertion": assertion, "severity": "soft", "sustain": "2h"}
    answer = api.post("/api/v1/data-tests", body, format="json")
    return answer.status_code, answer.json().get("error", "")


@pytest.mark.parametrize(
    "assertion",
    [
        "completeness(fare) >= 0.99 by city",
        "mean(fare) between 0.5 * lag(mean(fare), 7) and 2 * lag(mean(fare), 7) by city for 95 % of groups",
        "row_count() >= 0.9 * mean(row_count(), last=4, every=1w) and distinct_count(id) = row_count()",
    ],
)
def test_groups_and_histories_are_accepted(api: APIClient, assertion: str) -> None:
    assert written(api, assertion) == (201, "")


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ("completeness(fare) >= 0.99 by town", "has no column town"),
        ("freshness() < 4h by city", "freshness cannot be measured by group"),
        ("mean(row_count(), last=4, every=36h) > 0", "36h is no whole number of days"),
        ("quantile(fare, 2) > 0", "quantile(fare, 2)"),
        ("mean(row_count(dataset='raw.weekly'), last=4) > 0", "partitions do not align"),
    ],
)
def test_what_cannot_be_grouped_or_looked_back_on_is_refused(api: APIClient, assertion: str, message: str) -> None:
    status, error = written(api, assertion)
    assert (status, message in error) == (400, True)
