"""Suggestions: tests that a table's own past leads to, fitted on some windows and held against the others. Pure.

The tests that metadata leads to are in ``generation``; profiles are made in ``execution_engine``.
"""
