"""Who may do what: roles, members, tokens, readers of tables, and the audit of every change.

How a request proves who sends it is in ``web.access``.
"""
