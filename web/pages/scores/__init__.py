"""Pages that measure: precision, recall and quality in all, by group, by dataset, and of one team.

The figures are worked out in ``incident_manager.scores``; here they are asked for, and drawn over time.
"""
