"""What the values of the trips are drawn from."""

USERS, DRIVERS, CITIES = 1_000_000, 100_000, 200
STATUSES = ("accepted", "canceled", "completed", "no_show", "requested")
DATE = "2026-03-01"
