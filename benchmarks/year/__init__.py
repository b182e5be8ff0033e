"""A year of flights with a random fault in each week, lived through by the service with the tests that it makes itself.

No rule is written by hand. What an owner does here is to accept suggestions once, and to say which alarms were false.
"""
