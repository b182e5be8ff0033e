"""Time as the product counts it: windows, partition keys, local days, steps and durations. All of it is pure.

What time it is now is told by ``assay.clock``; when a stage looks again is in ``queue``.
"""
