"""Novelty: is a batch of rows unlike those that were accepted before it, in which column, and by which statistic?

How a batch is profiled is in ``profiles``; rules that somebody wrote are tests of the language.
"""
