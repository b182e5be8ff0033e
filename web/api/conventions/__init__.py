"""What all endpoints share: the base view, fields, errors, paging, exact numbers, strict JSON, the OpenAPI document.

Nothing here knows a resource.
"""
