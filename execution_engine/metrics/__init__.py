"""What can be measured: each metric with its signature, its formula, its state and how states merge.

How an engine gathers what a metric needs is in ``engines``.
"""
