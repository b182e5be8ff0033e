"""The catalog in YAML files: read whole, or refused with everything that is wrong in them.

What is written of it is in ``catalog.services``.
"""
