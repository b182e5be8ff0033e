"""Vital signs: what the commits of a table alone say of the next one and of the rows of the last.

Pure. How commits are read is in ``engines``; when a table is looked at, and what is kept of it, in ``heartbeats``.
"""
