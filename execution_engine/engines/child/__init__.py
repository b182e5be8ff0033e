"""Spark in a process of its own that can be killed: the pipes to it, its memory, its end.

What it computes there is in ``spark``.
"""
