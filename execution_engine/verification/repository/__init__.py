"""Metrics of earlier runs, kept in a file or in memory, and states of tables that grow by deltas.

What an anomaly among them is stands in ``constraints``.
"""
