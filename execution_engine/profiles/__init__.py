"""Profiles: what is known of a batch of rows, column by column, so small that it can be kept, and how parts merge.

Whether a profile is unlike those of the past is judged in ``novelty``; metrics of a test are in ``metrics``.
"""
