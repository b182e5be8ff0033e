"""Endpoints for programs that are no clients of an API: badges on pages, calendars, files.

What they show is decided elsewhere; addresses here may hold a key in place of a token.
"""
