"""How often the slice that explains a change is named: in real cases that people labelled, and in days of flights.

The method is ``execution_engine.attribution``; what the figures mean is in docs/slices.md.
"""
