"""One statement about data: the metrics that it asks for, the bound that it holds them to, and what came of it.

Measuring is the suite's work; the methods that users call are in ``checks``.
"""
