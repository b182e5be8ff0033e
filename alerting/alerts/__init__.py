"""The alert of a dataset and category: opened, decided about while it is open, closed, and its texts.

Inhibition is in ``inhibition``; delivery is in ``notices``.
"""
