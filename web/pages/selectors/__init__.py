"""What the pages show, read in a few statements each.

No rule is decided here.
"""
