"""Precision, recall and quality by duration, of datasets, queries and owners.

The rules are pure; ``metric_reporter`` reads the rows for them.
"""
