"""From the text of a test to what the data says: language, metrics, engines, and the runs and scans that ask them.

What a result means over time, and who hears of it, is decided in the packages above.
"""
