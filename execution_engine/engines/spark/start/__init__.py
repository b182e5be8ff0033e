"""Starting Spark: the Java that fits, the settings of a session, where it runs.

The process that hosts it is in ``child``.
"""
