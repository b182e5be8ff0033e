"""Endpoints for those who use data: the gate, look-ups, queries, scores.

What is broken, and work on it, is in ``incidents``.
"""
