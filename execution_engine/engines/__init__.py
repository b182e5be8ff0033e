"""What reads data: one protocol, an engine for the lake in a Spark child, one for databases, one for footers alone.

What is measured is said by ``metrics``; an engine knows neither Django nor the catalog's rows.
"""
