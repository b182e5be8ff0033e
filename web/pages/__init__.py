"""The dashboard's pages: views, forms, and what a session may do.

What a page shows is read in ``selectors``; what the API shows too is in ``web.shown``.
"""
