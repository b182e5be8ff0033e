"""What the company says of its datasets: profiles, and the providers that read them.

Tests that follow from metadata are written by ``test_generator``.
"""
