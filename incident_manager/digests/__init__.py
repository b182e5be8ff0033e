"""Digests: the week of a team in one message, composed of figures that are those of the API.

When a message is sent, and where to, is in ``alerting.notices`` and ``alerting.routes``.
"""
