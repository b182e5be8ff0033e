"""What one process does for all, once a beat: sweep for lost hints, pull catalogs, prune, give a sign of life.

The stages themselves are in ``queue``.
"""
