"""What is broken and what is known of data: incidents, reports, the answer, the gate, scores, retention.

The pages and endpoints that show it are in ``web``.
"""
