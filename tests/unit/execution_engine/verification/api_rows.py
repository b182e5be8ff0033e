"""The rows that the examples of docs/verification-api.md are about."""

from typing import Any

COLUMNS = ("ride_id", "city", "country", "fare", "tip", "code", "note", "rider_id")
SCHEMA = "ride_id long, city string, country string, fare double, tip double, code string, note string, rider_id long"
RIDES: list[tuple[Any, ...]] = [
    (1, "rome", "IT", 4.0, 1.0, "12", "write to ada@example.org", 1),
    (2, "rome", "IT", 8.0, 2.0, "7", "see https://example.org/help", 2),
    (3, "rome", "IT", 12.0, 3.0, "30", "card 4111 1111 1111 1111", 3),
    (4, "oslo", "NO", 16.0, 4.0, "8.5", "social security 111-05-1130", 1),
    (5, "oslo", "NO", 20.0, 5.0, "x", None, 2),
    (6, "rome", "IT", 4.0, 1.0, "41", None, 3),
    (7, "oslo", "NO", 8.0, 2.0, "6", None, 1),
    (8, "rome", "IT", 12.0, 3.0, "19", None, 2),
    (9, "oslo", "NO", -2.0, 0.0, "3", None, None),
    (9, None, None, None, None, None, None, 7),
]
RIDERS = [(1,), (2,), (3,)]
EARLIER_SIZES = (9, 10, 11, 10)  # of 6 to 9 March 2026; the rides are those of the 10th
