"""Who asks: sign-in, tokens, permissions, how often one may ask, and the audit of what was changed.

Which role may do what is decided in ``assay.access``.
"""
