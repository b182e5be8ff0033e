"""What people and programs call: the REST API, the dashboard, the commands ``up``, ``demo`` and ``doctor``.

No rule is decided here; each page and endpoint asks the packages below.
"""
