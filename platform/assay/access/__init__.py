"""Who may do what: roles and scopes as tables of rules, and the readers of a dataset. All of it is pure.

The people, services and tokens themselves are in ``accounts``; how a request proves who sends it, in ``web.access``.
"""
