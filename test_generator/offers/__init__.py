"""Offers: suggestions that are kept for people, who accept or reject them; and the reading of the past behind them.

What is suggested, and what a decision covers, is decided in ``suggestions``.
"""
