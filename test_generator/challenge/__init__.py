"""Challenges: copies of real data with known errors, and what tests, suggestions and novelty say of each copy.

Tests are written in ``data_tests`` and ``generation``; what the past leads to is found in ``suggestions``.
"""
