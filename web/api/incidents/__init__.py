"""Endpoints for what is broken and what is done about it: incidents, reports, silences, quarantines, runs.

The rules are in ``incident_manager`` and ``alerting``.
"""
