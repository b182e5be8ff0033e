"""Measurements that end the process which takes them: suspected, tried alone, then left out.

A hand lifts a quarantine in ``runs``.
"""
