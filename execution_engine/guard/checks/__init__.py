"""The rules that a user's SQL must meet, one file for each kind of thing that is looked at.

Reading the text and the order of the rules are one level up, in ``query`` and ``condition``.
"""
