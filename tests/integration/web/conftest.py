"""A client that speaks the API with a token, on a stopped clock."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from assay import clock
from assay.access import Role
from assay.config import config
from assay.models import AccessToken, Member
from tests.factories import NOW


@pytest.fixture(autouse=True)
def _quick_passwords(settings: Settings) -> None:
    """Passwords of tests need no slow hash."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _allowed_roots(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Requests may name folders of this machine, as an operator would allow."""
    monkeypatch.setenv("ASSAY_ALLOWED_ROOTS", '["/"]')
    config.cache_clear()
    yield
    monkeypatch.undo()
    config.cache_clear()


@pytest.fixture
def user(db: None, _quick_passwords: None) -> User:
    """An admin, at noon of the tests' day."""
    clock.simulate(NOW)
    user = User.objects.create_user("grace", password="hopper")
    Member.objects.create(user=user, role=Role.ADMIN)
    return user


@pytest.fixture
def api(user: User) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Token {AccessToken.objects.create(user)[1]}")
    return client


@pytest.fixture
def pages(client: Client, user: User) -> Client:
    client.force_login(user)
    return client
