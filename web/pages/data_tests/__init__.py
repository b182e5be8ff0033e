"""Pages of the tests that a dataset has or could have: the editor with its past, suggestions, backtests and templates.

What a test is, and how it is stored, is in ``test_generator``; what the past says of it in ``incident_manager``.
"""
