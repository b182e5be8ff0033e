"""Reports on pages: the inbox of those who decide of them, and the form in which somebody reports a problem.

What becomes of a report is in ``incident_manager.reports``.
"""
