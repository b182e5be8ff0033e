"""Members: who is what here, for admins."""

from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from assay.access import Role
from assay.accounts import member_as_json, set_member
from web.access.changes import origin_of
from web.api.conventions.base import Rows
from web.api.conventions.fields import Shape
from web.api.conventions.problems import conflict


class MemberRow(serializers.Serializer[Any]):
    """A user with their role."""

    name = serializers.CharField()
    role = serializers.ChoiceField([role.value for role in Role])
    teams = serializers.ListField(child=serializers.CharField())
    active = serializers.BooleanField()
    superuser = serializers.BooleanField()

    def to_representation(self, instance: User) -> dict[str, Any]:
        """The user as admins see them."""
        return super().to_representation(member_as_json(instance))


class NewMember(Shape):
    """Changes to a member; fields that are left out stay as they are."""

    role = serializers.ChoiceField([role.value for role in Role], required=False)
    teams = serializers.ListField(child=serializers.CharField(max_length=200), required=False, max_length=100)
    active = serializers.BooleanField(required=False)


class Members(Rows):
    """Members: people and services, by name."""

    dataset_path = ""
    serializer_class = MemberRow
    queryset = User.objects.select_related("member").order_by("username")
    lookup_field = "username"
    lookup_url_kwarg = "name"
    lookup_value_regex = "[^/]+"

    def list(self, request: Request) -> Response:
        """List everybody who can sign in, and services, by name."""
        return self.page_of(self.get_queryset())

    def retrieve(self, request: Request, name: str) -> Response:
        """Show one member."""
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=NewMember)
    def update(self, request: Request, name: str) -> Response:
        """Give a user a role and teams, or shut them out."""
        given, user = self.given(NewMember), self.get_object()
        if user.is_superuser:
            raise conflict(f"{user} is a superuser, and so an admin.", mend="Change that where Assay runs.")
        role = Role(given["role"]) if "role" in given else None
        set_member(user, role=role, teams=given.get("teams"), is_active=given.get("active"), origin=origin_of(request))
        return Response(self.get_serializer(self.get_object()).data)
