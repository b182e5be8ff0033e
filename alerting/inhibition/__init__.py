"""One cause, one notice: which trouble explains another, whether rows are late or lost, and who waits for whom.

What the decision does to an alert is in ``alerts``.
"""
