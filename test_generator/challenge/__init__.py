"""Challenges: copies of real data with known errors, to measure what tests would catch.

The tests that are challenged are written in ``generation`` and judged elsewhere.
"""
