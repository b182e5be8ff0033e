"""What pages and the API show alike: the words and colours of a status, the lineage graph, an incident's timeline.

Pages alone show plain words for stored values.

Nothing here answers a request.
"""
