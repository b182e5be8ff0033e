"""Every metric, one file for each family: its call, its formula, its source, and what an engine must gather for it.

A metric is known once it has a line in ``registry``; how its states merge is in ``states``.
"""
