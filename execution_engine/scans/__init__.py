"""Scans: measurements asked for, one pass for each place and window, what it read, and whom it wakes.

What reads the data is in ``engines``.
"""
