"""Filters that templates use for times, values and states.

Texts of a status are in ``web.rendering``.
"""
