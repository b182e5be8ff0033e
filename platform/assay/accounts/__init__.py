"""People and services: members and their teams, tokens, and the audit of every change.

What each of them may do is in ``access``.
"""
