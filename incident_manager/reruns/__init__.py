"""What is run or judged again: by back-off, after a change of the data, and after a revision.

How the back-off grows is decided in ``alerting.verdicts``.
"""
