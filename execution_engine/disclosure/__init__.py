"""What a test may tell of data: values of sensitive columns never, another dataset only to its own readers.

What may still be shown of results that are kept is asked in ``runs``.
"""
