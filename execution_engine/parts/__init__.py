"""States of partitions, kept and merged: a new partition is read alone, whatever else its test covers.

How two states merge is each metric's; see ``metrics``.
"""
