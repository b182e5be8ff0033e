"""Rows as queues: the stages and what they claim, workers that drain them, and hints over the broker.

What a stage does is in the package that owns it; who looks for lost hints is in ``scheduler``.
"""
