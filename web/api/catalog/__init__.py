"""Endpoints for what the catalog knows: datasets, lineage, completions of pipelines, data tests, coverage.

Answers about data are in ``consumption``.
"""
