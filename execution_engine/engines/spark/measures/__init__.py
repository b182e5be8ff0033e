"""What Spark gathers: aggregates, frequencies, groups, histograms, joins, queries, samples of failing rows.

The order of one scan is one level up, in ``scan`` and ``batch``.
"""
