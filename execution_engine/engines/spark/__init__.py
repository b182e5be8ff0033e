"""Metrics measured by Spark: sources opened, selects gathered into few jobs, values and failures read back.

Starting and stopping the process that hosts it is in ``child``.
"""
