"""Precision, recall and quality by duration, of datasets, queries and owners; how long detection and repair take.

The rules are pure; ``facts`` reads the rows for them, and ``metric_reporter`` answers.
"""
