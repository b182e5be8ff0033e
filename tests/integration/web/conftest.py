"""A client that speaks the API with a token, on a stopped clock."""

import pytest
from django.contrib.auth.models import User
from knox.models import AuthToken
from pytest_django import Settings
from rest_framework.test import APIClient

from assay import clock
from tests.factories import NOW


@pytest.fixture(autouse=True)
def _quick_passwords(settings: Settings) -> None:
    """Passwords of tests need no slow hash."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def user(db: None, _quick_passwords: None) -> User:
    """A known user, at noon of the tests' day."""
    clock.simulate(NOW)
    return User.objects.create_user("grace", password="hopper")


@pytest.fixture
def api(user: User) -> APIClient:
    """The user's client."""
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Token {AuthToken.objects.create(user)[1]}")
    return client
