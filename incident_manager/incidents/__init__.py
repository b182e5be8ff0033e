"""Incidents and their bad windows: opened, healed, resolved, ended by users, with the timeline of each.

What runs again after a change is in ``reruns``.
"""
