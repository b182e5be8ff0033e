"""Drift: how far the values of a column are from those of a reference, by four measures of two distributions.

Whether a batch is unlike its accepted past is for ``novelty``, which asks these measures.
"""
