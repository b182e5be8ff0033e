"""What is kept of one part of a table, so small that it can be stored, and how two parts make their union.

Sets of keys are in ``keys``; which metric needs which state is said in ``definitions``.
"""
