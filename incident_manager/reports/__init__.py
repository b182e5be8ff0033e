"""Bad data that users report: taken, joined with others of the same fault, confirmed, fixed or rejected.

What a confirmed report makes of an answer is in ``quality``.
"""
