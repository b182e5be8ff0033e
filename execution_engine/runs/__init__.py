"""Runs: scheduled or requested, planned, evaluated; windows left out of histories; what may be shown of results.

What several results of a window come to is judged in ``alerting``.
"""
