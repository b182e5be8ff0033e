"""People who ask: a member in a role, with the client of a token or the browser of a session."""

from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from assay.access import Role
from assay.models import AccessToken, Member


def member(name: str, role: Role = Role.VIEWER, *teams: str) -> User:
    """A user who may sign in with the password of them all."""
    user = User.objects.create_user(name, password="hopper")
    Member.objects.create(user=user, role=role, teams=list(teams))
    return user


def client_of(user: User) -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.credentials(HTTP_AUTHORIZATION=f"Token {AccessToken.objects.create(user)[1]}")
    return client


def client(name: str, role: Role = Role.VIEWER, *teams: str) -> APIClient:
    return client_of(member(name, role, *teams))


def browser(name: str, role: Role = Role.VIEWER, *teams: str) -> Client:
    """A browser in which somebody new has signed in."""
    made = Client()
    made.force_login(member(name, role, *teams))
    return made
