"""What the results of one window come to: the fold over its runs (WARN, then FAIL after the sustain period), back-off.

Standings are written in ``standings``; what one result is was evaluated by the execution engine.
"""
