"""Kernels by groups: which group each row is in, and what the rows of each group come to, for all groups at once.

What is told of all rows together, and how it is read, is next door.
"""
