"""Routes: which channels and addresses a team or an owner has, their quiet hours, and the day of their digest.

How a channel sends is in ``channels``; who is told of what is in ``notices``.
"""
