"""From metrics to what must be gathered for them, and from what was gathered to their values, in any engine.

Reading the data itself is the work of each engine.
"""
