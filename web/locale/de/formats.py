"""German figures, with a point as in the API and in assertions, and never a comma."""

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ","
