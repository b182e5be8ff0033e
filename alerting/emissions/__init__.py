"""OpenLineage out: what tests found, as run events for a receiver outside.

Events that come in are read in ``assay.catalog.openlineage``.
"""
