"""The engine against a query written by hand, its own ways, and its peers."""
