"""What people see where a page cannot be shown: plain words, and a way on."""

import html5lib
import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from web.api.problems import fault

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "address", ["/nothing", "/datasets/no.such", "/incidents/999999", "/teams/nobody", "/datasets/%3Cb%3E"]
)
def test_an_address_without_a_page_says_so_and_offers_a_search(client: Client, address: str) -> None:
    client.force_login(User.objects.create(username="ada"))
    answer = client.get(address)
    page = answer.content.decode()
    assert answer.status_code == 404
    html5lib.HTMLParser(strict=True).parse(page)
    assert ("There is nothing at this address" in page, "Find a dataset" in page) == (True, True)
    assert ("Resolver404" in page, "query" in page) == (False, False)


def test_what_is_gone_is_named(client: Client) -> None:
    client.force_login(User.objects.create(username="ada"))
    assert "There is no incident 999999." in client.get("/incidents/999999").content.decode()


def test_who_is_not_logged_in_is_offered_the_login(client: Client) -> None:
    page = client.get("/nothing").content.decode()
    assert ('href="/login"' in page, "Find a dataset" in page) == (True, False)


def test_a_fault_is_told_without_the_database(rf: RequestFactory) -> None:
    answer = fault(rf.get("/incidents"))
    page = answer.content.decode()  # type: ignore[attr-defined]
    assert answer.status_code == 500
    html5lib.HTMLParser(strict=True).parse(page)
    assert "Assay has failed to show this page" in page
