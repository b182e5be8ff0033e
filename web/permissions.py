"""Who may do what, in one place: today whoever has logged in may read and write everything."""

from rest_framework.permissions import IsAuthenticated


class MayUse(IsAuthenticated):
    """Anyone who is known; roles will be told apart here."""
