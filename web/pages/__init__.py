"""The dashboard's pages, a module for each: what it reads, how it is shown, and what its forms do.

What the API shows too is in ``web.rendering``; what all pages share is in ``page_policy``.
"""
