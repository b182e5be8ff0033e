"""Endpoints for people and services: login, members, tokens, the audit log.

Pages sign in through ``web.access``.
"""
