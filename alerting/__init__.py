"""What results mean: standings and verdicts, inhibition, grace, waivers, and who is told over which channel.

Incidents, which users see and end, are in ``incident_manager``.
"""
