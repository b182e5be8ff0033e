"""Standings judged and written: new results folded, flips told, checks asked for, waivers made and ended.

The rules of the fold are in ``verdicts``; who hears of a flip is decided in ``alerts``.
"""
