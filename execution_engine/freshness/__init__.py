"""Measurements that others give, without reading data: whether a window is fresh, and how long it took.

Late or lost is decided in ``alerting``.
"""
