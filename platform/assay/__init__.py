"""The core of Assay: settings, clock, windows, the catalog, data tests and the flow between the stages.

Every package builds on it; it knows none of them.
"""
