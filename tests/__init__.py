"""The tests. A package of its own, as others of this name may be installed."""
