"""Backtests: what a test would have done over the past, judged by the rules that judge live tests; nothing is written.

What is measured for one is asked for in ``execution_engine``; live incidents are in ``incidents``.
"""
