"""Checks written in YAML: a file is read whole, or refused with everything that is wrong in it.

The same checks in Python are in ``checks``.
"""
