"""Sets of keys as small states: digests, Bloom filters and samples that travel between datacenters.

Nothing here reads a table.
"""
