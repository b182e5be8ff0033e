"""What a test asks of data: its windows and due times, the measurements it needs, and what comes first.

Runs are planned in ``runs``; measurements become scans in ``scans``.
"""
