"""The REST API under ``/api/v1``, a file for each family of resources.

Every rule is in the packages below; an endpoint reads, asks and answers.
"""
