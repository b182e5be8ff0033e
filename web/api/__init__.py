"""The REST API under ``/api/v1``, one file for each resource, in rooms by who asks for it.

Every rule is in the packages below; an endpoint reads, asks and answers.
"""
