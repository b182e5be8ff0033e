"""Templates: a rule that is written once, the datasets and columns that it selects, and the tests that it makes there.

What one test is checked for when it is written stands in ``data_tests``; how templates are written, in the catalog.
"""
