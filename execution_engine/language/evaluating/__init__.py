"""From a tree and the values of its operands to a verdict, and to the sentence that tells it.

Where the values come from is planned and measured elsewhere.
"""
