"""The page of a dataset's columns before anything is profiled, and the way to it from the dataset's page."""

from html import unescape

import pytest
from django.test import Client
from rest_framework.test import APIClient

from assay.models import Category, Dataset
from test_generator.models import Gap
from tests.factories import NOW, DatasetFactory, DataTestFactory, StandingFactory

pytestmark = pytest.mark.django_db


def page(pages: Client, dataset: Dataset, **asked: str) -> str:
    answer = pages.get(f"/datasets/{dataset.full_name}/columns", asked)
    assert answer.status_code == 200
    return " ".join(unescape(answer.content.decode()).split())


def test_a_dataset_outside_the_lake_says_why_it_is_not_profiled(pages: Client) -> None:
    dataset = DatasetFactory.create()
    reason = "it lies outside the lake, where no profile is taken."
    Gap.objects.create(dataset=dataset, category=Category.NOVELTY, reason=reason, since=NOW)
    assert f"does not profile the partitions of this dataset: {reason}" in page(pages, dataset)
    Gap.objects.update(closed_at=NOW)
    assert reason not in page(pages, dataset)


def test_a_dataset_that_is_not_watched_for_novelty_says_what_to_write(pages: Client) -> None:
    dataset = DatasetFactory.create(tier=5)
    assert "does not test this dataset for it, as its tier is 5. Write novelty: true" in plain(page(pages, dataset))
    Dataset.objects.update(tier=0, novelty=False)
    assert "does not test this dataset for it. Write novelty: true" in plain(page(pages, dataset))
    DataTestFactory.create(dataset=dataset, assertion="novelty(fare) <= 1")
    assert ("assay run" in page(pages, dataset), "does not test this dataset" in page(pages, dataset)) == (True, False)


def plain(text: str) -> str:
    return text.replace("<code>", "").replace("</code>", "")


def test_tests_are_found_by_a_column_that_nobody_declared(pages: Client) -> None:
    dataset = DatasetFactory.create(columns=[], partition_column="")
    test = DataTestFactory.create(
        dataset=dataset, name="whole", assertion="completeness(`order id`, `a.b`) = 1 by City"
    )
    StandingFactory.create(data_test=test, state="FAIL")
    shown = page(pages, dataset, text="order")
    assert ("column=order%20id#chosen" in shown, f'?test={test.pk}#plot">whole</a>' in shown) == (True, True)
    assert ("a.b" in shown, 'id="chosen-title">City' in page(pages, dataset, column="city")) == (False, True)


def test_before_anything_is_profiled_the_api_tells_declared_columns_and_those_that_tests_name(api: APIClient) -> None:
    dataset = DatasetFactory.create()
    test = DataTestFactory.create(dataset=dataset, assertion="mean(FARE) > 1 by `a.b`")
    found = api.get("/api/v1/columns", {"dataset": dataset.full_name}).json()
    assert (found["dataset"], found["count"], found["windows"]) == (dataset.full_name, 3, [])
    assert [(column["name"], column["type"], column["data_tests"]) for column in found["columns"]] == [
        ("id", "bigint", []),
        ("fare", "double", [test.pk]),
        ("a.b", "", [test.pk]),
    ]
    assert all(column["complete"] is None for column in found["columns"])


@pytest.mark.parametrize("asked", [{}, {"dataset": "no.such"}, {"limit": "0"}, {"offset": "x"}, {"column": "fare"}])
def test_the_api_refuses_a_question_that_it_does_not_know(api: APIClient, asked: dict[str, str]) -> None:
    dataset = {"dataset": DatasetFactory.create().full_name} if asked else {}
    assert api.get("/api/v1/columns", {**dataset, **asked}).status_code == 400


def test_the_page_of_a_dataset_leads_from_each_test_to_its_columns(pages: Client) -> None:
    dataset = DatasetFactory.create()
    DataTestFactory.create(dataset=dataset, assertion="completeness(`note <b>`, where='fare > 0') = 1 by `a.b`")
    DataTestFactory.create(dataset=dataset, assertion="mean(other, dataset='raw.other') > 1 or row_count() > 0")
    answer = pages.get(f"/datasets/{dataset.full_name}?tab=tests").content.decode()
    address = f"/datasets/{dataset.full_name}/columns?column="
    note = f'<a href="{address}note%20%3Cb%3E#chosen">note &lt;b&gt;</a>'
    assert (f'of {note}, <a href="{address}a.b#chosen">a.b</a></span>' in answer, answer.count(address)) == (True, 2)
