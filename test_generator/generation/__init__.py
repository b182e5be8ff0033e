"""The standard tests: what metadata and lineage lead to, and how the tests there are become the tests there should be.

Tests that users wrote, and the writing of any test, are in ``data_tests``.
"""
