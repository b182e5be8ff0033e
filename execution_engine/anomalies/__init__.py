"""What is unusual in the series of one metric: where the next value is expected, by strategies that have names.

Pure. How the language and checks ask them is in ``language`` and in ``verification``.
"""
