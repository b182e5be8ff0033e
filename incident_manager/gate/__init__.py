"""May this step read its inputs: allow, warn or block, by tier, on top of what is known of the data.

What is known is answered in ``quality``.
"""
