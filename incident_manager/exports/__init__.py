"""Exports: runs, measurements and incidents of a range as files, written piece by piece however many there are.

Who may see which rows is decided by whoever asks.
"""
