"""The test editor: a user's test is written or revised on a page that says what it reads and would have raised.

What a test is, and how it is stored, is in ``test_generator``; what the past says of it in ``incident_manager``.
"""
