"""What a dataset's files look like, looked at every few minutes while something is wrong with them.

Which runs follow a change is decided in ``incident_manager``.
"""
