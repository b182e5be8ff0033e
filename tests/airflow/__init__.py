"""``make airflow``: a real Airflow asks a real Assay, with both distributions installed from wheels.

It is no part of ``make test``: Airflow is installed into an environment of its own, which takes minutes the first time.
"""
