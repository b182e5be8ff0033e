"""German: its texts, and its figures.

No word of English, and no rule of which language a page is in, which is in ``web.pages.page_policy``.
"""
