"""Which tables a query reads, and which of their partitions: the text is read, and nothing is run. All of it is pure.

What is known of these partitions is the incident manager's; queries that tests may run are the guard's.
"""
