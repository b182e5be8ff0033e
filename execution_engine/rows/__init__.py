"""The rows that broke tests, in stores of the operator's: where they may lie, how they get there and go again.

Which rows break a metric is said in ``engines/row_rules.py``; what pages show of them in ``runs/rows_samples.py``.
"""
