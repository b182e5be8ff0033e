"""Faults staged on real processes: one experiment a file, and invariants that must hold after each of them.

``python -m tests.faults --quick`` runs the short subset, ``make faults`` all.
"""
