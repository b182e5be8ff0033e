"""The texts of the pages in each language, and how that language writes figures: as English does, to be compared.

No English texts, which stand where they are shown; no dates, which are ISO 8601 in every template.
"""
