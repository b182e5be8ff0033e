"""From the text of an assertion to its tree, or to a message that draws the place and says how to mend it.

The grammar lies beside it; whether a metric fits its dataset is asked in ``checking``.
"""
