"""Charts of values over time: their ticks, their SVG text for pages, and PNG pictures of it. All of it is pure.

What is drawn, and in which words, is told by whoever draws: pages in ``web``, notices in ``alerting``.
"""
