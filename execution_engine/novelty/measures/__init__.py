"""What is measured of a batch: the statistics of its columns beside the pools of those before it.

Whether they are unlike the past's is for the judge above.
"""
