"""What stands on what, through any number of steps: once a day over all edges, exactly, however many there are.

The edges themselves, and who says them, are in ``assay.catalog``.
"""
