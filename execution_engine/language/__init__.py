"""The assertion language: its tree, how trees are walked, written and stored, and where a text is wrong.

Reading texts is in ``parse``, the type check in ``checking``, verdicts in ``evaluate``; nothing here measures data.
"""
