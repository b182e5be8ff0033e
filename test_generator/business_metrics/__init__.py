"""Business metrics as they are told: what their expressions may hold, and what follows from their sources.

Their tests are in ``generation``; how a value is computed is in ``execution_engine.freshness``.
"""
